tern help list ops
