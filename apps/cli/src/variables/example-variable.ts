/** The file of `var init` (CL-853). */
export const EXAMPLE_VARIABLE_HCL = `# A variable: a path with items, which only those see that may read the path.
#
#   waybill var put @spec.nv.hcl

# Where it is kept. An argument of "var put" goes before it.
path = "path/to/variable"

# namespace = "default"

# What "var get -out=hcl" prints has the index of the last write here: the next
# write is refused if somebody else has written the variable since.
# modify_index = 0

# Names with other characters than letters, digits and _ are hard to use in templates.
items {
  key1 = "value 1"
  key2 = "value 2"
}
`;

export const EXAMPLE_VARIABLE_JSON = `{
  "Namespace": "default",
  "Path": "path/to/variable",
  "Items": {
    "key1": "value 1",
    "key2": "value 2"
  }
}
`;
