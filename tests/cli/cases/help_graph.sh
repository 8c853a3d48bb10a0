tern help graph
