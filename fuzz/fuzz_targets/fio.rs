//! Job files of fio.
#![no_main]

use domio_vmm::process::programs::FioFile;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(file) = FioFile::read(text) {
        for job in file.jobs {
            assert_eq!(job.config.fault(), None, "{}", job.name);
        }
    }
});
