graph g '%x = constant f32[100] return %x as "x"' | tern graph run -
