tern graph run --help
