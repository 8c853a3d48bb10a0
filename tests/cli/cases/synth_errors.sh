status tern synth --shape none x.gguf
status tern synth --type q9 x.gguf
tern synth --shape tiny --type q4_k --arch llama x.gguf
rm x.gguf
status tern synth --shape tiny --heads 3 x.gguf
status tern synth --shape tiny --ff 500 x.gguf
status tern synth --shape tiny --embedding tq1_0 x.gguf
status tern synth --shape tiny /nonexistent/x.gguf
ls -A
