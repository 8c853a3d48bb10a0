tern graph run x.tern --thread=4
