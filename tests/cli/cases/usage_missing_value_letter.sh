tern graph run x.tern -o
