tern help train
