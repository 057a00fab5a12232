//! Limits of libvirt's groups inside those of guests, and disks.

use super::*;

/// Each limit of `<cputune>` has its key; one without a quota says nothing.
#[test]
fn limits_of_libvirt_are_those_of_its_groups() {
    let tune = "<global_period>90000</global_period><global_quota>80000</global_quota>\
                <period>50000</period><quota>-1</quota>\
                <emulator_period>20000</emulator_period><emulator_quota>5000</emulator_quota>\
                <iothread_quota>7000</iothread_quota>";
    let xml = XML.replace("<period>50000</period>\n    <quota>25000</quota>", tune);
    let imported = host(&[("web.xml", &xml)]);
    let body = body(&imported);
    let keys = "layout = \"libvirt\"\nemulator_period_us = 20000\nemulator_quota_us = 5000\n\
                iothread_quota_us = 7000\nperiod_us = 90000\nquota_us = 80000\nweight = 512\n";
    assert!(body.contains(keys), "{body}");
    assert!(!body.contains("vcpu_"), "{body}");
    // What the kernel has holds.
    let groups = r"/s/machine.slice/machine-qemu\x2d1\x2dweb.scope/cpu.weight:512
/s/machine.slice/machine-qemu\x2d1\x2dweb.scope/libvirt/emulator/cpu.max:9000 90000
/s/machine.slice/machine-qemu\x2d1\x2dweb.scope/libvirt/iothread1/cpu.max:8000 100000
/s/machine.slice/machine-qemu\x2d1\x2dweb.scope/libvirt/iothread2/cpu.max:6000 100000
";
    let imported = host(&[("web.xml", &xml), ("groups", groups)]);
    let body = self::body(&imported);
    for part in [
        "emulator_period_us = 90000\nemulator_quota_us = 9000\n",
        "iothread_period_us = 100000\niothread_quota_us = 8000\n",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
    let left = notes(&imported.left_out);
    let other = "iothread_quota_us = 6000: one before has 8000 groups:4";
    assert!(left.iter().any(|note| note == other), "{left:?}");
    let xml = XML.replace("<quota>25000", "<emulator_quota>5");
    let error = refused(&xml.replace("25000</quota>", "5</emulator_quota>"));
    assert!(error.starts_with("f:"), "{error}");
}

/// Disks of virtio-blk have the thread that serves them.
#[test]
fn disks_of_virtio_are_disks_of_the_scenario() {
    let disks = "<disk type='file' device='disk'>\
        <driver name='qemu' cache='none' io='io_uring' iothread='1'/>\
        <target dev='vda' bus='virtio'/></disk>\
        <disk type='file' device='disk'><target dev='vdb'/></disk>\
        <disk type='file' device='cdrom'><target dev='sda' bus='sata'/></disk>";
    let xml = XML.replace("<disk type='file'/>", disks);
    let imported = host(&[("web.xml", &xml)]);
    let body = body(&imported);
    for part in [
        "[[disk]]\nname = \"nvme0n1\"\nprofile = \"nvme\"\nelevator = \"none\"\n\n[guests]\n",
        "disk = [\n  { kind = \"vbd\", name = \"vda\", size = \"1G\", \
         iothread = \"IO iothread1\" },\n",
        "\n  { kind = \"vbd\", name = \"vdb\", size = \"1G\", \
         iothread = \"qemu-system-x86\" },\n]\n",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
    let left = notes(&imported.left_out);
    for note in [
        "io=io_uring of vda of web web.xml:14",
        "1 disk of web: only virtio-blk is modelled web.xml:14",
    ] {
        assert!(left.iter().any(|left| left == note), "{left:?}");
    }
    let assumed = notes(&imported.assumed);
    assert!(
        assumed
            .iter()
            .any(|note| note.starts_with("one drive, of the model nvme;")),
        "{assumed:?}"
    );
    let line = "qemu-kvm -name db -smp 2 -object iothread,id=io0 \
        -drive file=/srv/a,if=none,id=d0,aio=threads -device virtio-blk-pci,drive=d0,iothread=io0 \
        -drive file=/srv/b,if=virtio,aio=native";
    let imported = host(&[("ps.txt", line)]);
    let body = self::body(&imported);
    for part in [
        "{ kind = \"vbd\", name = \"vda\", size = \"1G\", iothread = \"IO io0\" }",
        "{ kind = \"vbd\", name = \"vdb\", size = \"1G\", iothread = \"qemu-system-x86\" }",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
    assert_eq!(
        notes(&imported.left_out),
        ["aio=threads of d0 of db ps.txt:1"]
    );
}
