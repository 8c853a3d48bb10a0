tern graph run x.tern --level extreme
