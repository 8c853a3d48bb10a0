tern graph
