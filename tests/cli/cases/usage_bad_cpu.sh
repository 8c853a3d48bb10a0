tern graph run x.tern --cpu pentium
