/** What wasm-bindgen puts before `worker.js`: a function that begins the program, and its own. */
declare const domio: any;
