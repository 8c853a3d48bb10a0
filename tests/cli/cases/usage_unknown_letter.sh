tern graph run -x
