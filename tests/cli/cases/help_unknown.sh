tern help grahp
