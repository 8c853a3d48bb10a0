# Options of llama.cpp and verbs of other programs lead to what there is here, and letters are not taken for other options.
for option in "-ngl 99" "-dev cpu" -cnv -fa -no-cnv "-ctk f16" "-tb 2" "-sys x" "-np 2" "--keep 4" --temperature=1 "--reverse-prompt x" "-hf a/b" -i "--chat-template bitnet"; do
    tern run -m model.gguf -p x $option && echo "$option is taken"
done
tern chat -m model.gguf -cnv
tern perplexity -m model.gguf -ngl 0
tern bench model -m model.gguf -fa 1 -p 8
tern graph run -ngl 1 g.tern
for verb in serve quantize generate ppl detokenize model.gguf; do tern $verb; done
tern run model.gguf -p hi
tern run -m model.gguf hi
tern perplexity model.gguf
tern -m model.gguf -p hi
tern inspect -m model.gguf
status tern bench -m model.gguf
status tern chat -m model.gguf --chat-template llama3
