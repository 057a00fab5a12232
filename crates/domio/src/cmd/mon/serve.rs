//! Answers Prometheus: one text, by HTTP.

use anyhow::Context;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a client may take for its request and for the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Longest request that is read.
const REQUEST: usize = 8 << 10;

/// The text that is served.
#[derive(Clone, Default)]
pub struct Served(Arc<Mutex<String>>);

impl Served {
    /// Serves at `address` until the program ends; the address, with the port that the system chose
    /// for 0.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub fn at(address: SocketAddr) -> anyhow::Result<(Served, SocketAddr)> {
        let context = || format!("cannot listen at {address}; choose another with --listen");
        let listener = TcpListener::bind(address).with_context(context)?;
        let address = listener.local_addr().with_context(context)?;
        let served = Served::default();
        let text = served.clone();
        // One client after the other: Prometheus asks every few seconds.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A client that goes away is its own loss.
                let _ = answer(client, &text.text());
            }
        });
        Ok((served, address))
    }

    /// Replaces the text.
    pub fn set(&self, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    fn text(&self) -> String {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Reads a request, and answers it.
fn answer(mut client: TcpStream, text: &str) -> io::Result<()> {
    client.set_write_timeout(Some(PATIENCE))?;
    let until = Instant::now() + PATIENCE;
    let mut request = Vec::new();
    let mut bytes = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        client.set_read_timeout(Some(left))?;
        match client.read(&mut bytes)? {
            0 => break,
            read => request.extend(&bytes[..read]),
        }
    }
    let line = request.split(|byte| *byte == b'\r').next();
    let line = String::from_utf8_lossy(line.unwrap_or_default()).into_owned();
    let mut words = line.split(' ');
    let path = |path: &str| path.split('?').next().map(str::to_owned);
    let (method, path) = (words.next(), words.next().and_then(path));
    let (status, body) = match (method, path.as_deref()) {
        (Some("GET" | "HEAD"), Some("/" | "/metrics")) => ("200 OK", text),
        (Some("GET" | "HEAD"), Some(_)) => ("404 Not Found", "the figures are at /metrics\n"),
        _ => ("405 Method Not Allowed", "only GET is answered\n"),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    if method != Some("HEAD") {
        client.write_all(body.as_bytes())?;
    }
    client.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut client = TcpStream::connect(address).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_text_of_now_is_served() {
        let (served, address) = Served::at("127.0.0.1:0".parse().unwrap()).unwrap();
        served.set("domio_x 1\n".to_owned());
        let answer = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\ndomio_x 1\n"), "{answer}");
        served.set("domio_x 2\n".to_owned());
        let answer = ask(address, "GET / HTTP/1.0\r\n\r\n");
        assert!(answer.ends_with("domio_x 2\n"), "{answer}");
        assert!(ask(address, "GET /other HTTP/1.1\r\n\r\n").contains("404"));
        assert!(ask(address, "POST / HTTP/1.1\r\n\r\n").contains("405"));
    }

    #[test]
    fn a_client_that_says_nothing_does_not_block_the_next() {
        let (served, address) = Served::at("127.0.0.1:0".parse().unwrap()).unwrap();
        served.set("domio_x 1\n".to_owned());
        let silent = TcpStream::connect(address).unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        client.set_read_timeout(Some(4 * PATIENCE)).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("200 OK"), "{answer}");
        drop(silent);
    }
}
