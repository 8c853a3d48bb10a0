tern graph run x.tern --show=yes
