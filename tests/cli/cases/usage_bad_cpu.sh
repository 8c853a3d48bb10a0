tern graph run x.tern --cpu pentium 2>&1 | sed -E 's|there are [^(]*|there are ... |'
