/* type/kvtype.c - the types that a KV cache can have. */
#include <infer/kvtype.h>

#define ROW(type, name) { INFER_##type, name },
static const struct infer_kv_type types[] = { INFER_KV_TYPES(ROW, ROW, ROW) };

const struct infer_kv_type *infer_kv_type(int i)
{
	return i >= 0 && i < (int)(sizeof types / sizeof *types) ? &types[i] : NULL;
}

const char *infer_kv_name(int type)
{
	const struct infer_kv_type *t;

	for (int i = 0; (t = infer_kv_type(i)); i++)
		if (t->type == type)
			return t->name;
	return "?";
}
