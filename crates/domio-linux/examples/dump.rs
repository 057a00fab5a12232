//! x
fn main() {
    let mut r = domio_linux::LinuxReader::open(std::env::args().nth(1).unwrap()).unwrap();
    let n: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    for _ in 0..n {
        match r.next_event() {
            Ok(Some(e)) => println!("{e:?}"),
            o => {
                println!("{o:?}");
                break;
            }
        }
    }
}
