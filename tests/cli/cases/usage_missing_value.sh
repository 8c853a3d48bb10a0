tern graph run x.tern --input
