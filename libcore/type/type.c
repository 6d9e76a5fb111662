#include "type/type.h"
#include "base/err.h"
#include "base/num.h"

#include <assert.h>

static const struct type *const rows[] = {
#define TYPE(x) &type_##x,
#include "type/type_list.h"
#undef TYPE
};
static_assert(sizeof rows / sizeof *rows == INFER_TYPE_COUNT,
              "type_list.h and enum infer_type agree");

const struct type *type_get(int type)
{
	return type >= 0 && type < INFER_TYPE_COUNT ? rows[type] : NULL;
}

const struct infer_type_info *infer_type_info(int type)
{
	const struct type *t = type_get(type);

	return t ? &t->info : NULL;
}

int infer_type_from_gguf(uint32_t gguf_id)
{
	for (int i = 0; i < INFER_TYPE_COUNT; i++)
		if ((uint32_t)rows[i]->info.gguf_id == gguf_id)
			return i;
	return -1;
}

int type_width(int how)
{
#if defined __x86_64__
	if (!(how & (ENCODE_128 | ENCODE_256)) && __builtin_cpu_supports("avx512f"))
		return 4;
	if (!(how & ENCODE_128) && __builtin_cpu_supports("avx2"))
		return 2;
#else
	(void)how;
#endif
	return 1;
}

size_t type_row_bytes(int type, int64_t n)
{
	const struct infer_type_info *info = &rows[type]->info;

	return (size_t)n / (size_t)info->block * (size_t)info->block_bytes;
}

int infer_type_decode(int type, float *dst, const void *src, size_t n, infer_error *err)
{
	const struct type *t = type_get(type);

	if (!t)
		return err_set(err, INFER_EINVAL, "no element type has the number %d", type);
	if (n % (size_t)t->info.block)
		return err_set(err, INFER_EINVAL, "%zu elements of type %s: not a multiple of %d",
		               n, t->info.name, t->info.block);
	t->decode(dst, src, n / (size_t)t->info.block);
	return INFER_OK;
}

size_t type_find_bad(int type, const void *src, size_t n)
{
	const struct type *t = rows[type];
	size_t blocks = n / (size_t)t->info.block, bytes = (size_t)t->info.block_bytes;

	if (t->bad)
		return t->bad(src, blocks);
	for (size_t b = 0; t->n_f16 && b < blocks; b++)
		for (int i = 0; i < t->n_f16; i++) {
			size_t at = b * bytes + t->f16[i];
			if ((num_u16((const char *)src + at) & 0x7c00) == 0x7c00)
				return at;
		}
	return SIZE_MAX;
}
