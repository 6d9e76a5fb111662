/* arch/names.c - find the tensors of an architecture by name. */
#include "arch/arch.h"
#include "base/err.h"

#include <string.h>

int arch_is_named(const struct arch *a, enum arch_naming naming, const char *column,
                  struct infer_str name, int *expert)
{
	const char *says =
		arch_strip_prefix(a, naming, (struct infer_str){ column, strlen(column) }).at;
	const char *at = strstr(says, "%d");
	size_t head = at ? (size_t)(at - says) : strlen(says), i = head;
	int n = 0;

	if (name.len < head || memcmp(says, name.at, head))
		return 0;
	if (!at)
		return name.len == head;
	while (i < name.len && name.at[i] >= '0' && name.at[i] <= '9' && n <= ARCH_MAX_EXPERTS)
		n = n * 10 + name.at[i++] - '0';
	if (i == head || (i > head + 1 && name.at[head] == '0') || name.len - i != strlen(at + 2) ||
	    memcmp(at + 2, name.at + i, name.len - i))
		return 0;
	*expert = n;
	return 1;
}

struct arch_parts arch_find_rows(const struct arch *a, enum arch_naming naming,
                                 struct infer_str name, int layered)
{
	struct arch_parts p = { .n = 0, .expert = -1 };

	for (int slot = layered ? W_GLOBALS : 1; slot < (layered ? W_SLOTS : W_GLOBALS); slot++) {
		const struct arch_tensor *t = arch_row(a, slot);
		int is = t && naming == ARCH_GGUF &&
		         arch_is_named(a, naming, t->gguf, name, &p.expert);
		for (int i = 0; t && naming == ARCH_HF && i < 2; i++)
			is |= t->hf[i] && arch_is_named(a, naming, t->hf[i], name, &p.expert);
		if (is) {
			must(p.n < ARCH_MAX_PARTS);
			p.row[p.n++] = t;
		}
	}
	return p;
}

int arch_layer_of(const struct arch *a, enum arch_naming naming, struct infer_str name,
                  struct infer_str *rest)
{
	const char *layers = arch_layer_prefix(a, naming);
	const char *prefix =
		arch_strip_prefix(a, naming, (struct infer_str){ layers, strlen(layers) }).at;
	size_t from = strlen(prefix), i = from;
	int layer = 0;

	*rest = name = arch_strip_prefix(a, naming, name);
	if (name.len < from + 2 || memcmp(name.at, prefix, from) ||
	    (name.at[from] == '0' && name.at[from + 1] != '.'))
		return -1;
	for (; i < name.len && name.at[i] >= '0' && name.at[i] <= '9' && layer <= ARCH_MAX_LAYERS;
	     i++)
		layer = layer * 10 + name.at[i] - '0';
	if (i == from || i >= name.len || name.at[i] != '.')
		return -1;
	*rest = (struct infer_str){ name.at + i + 1, name.len - i - 1 };
	return layer;
}
