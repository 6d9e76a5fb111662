/* hf/pack_names.c - read and check the list of modules that a quantisation config excludes. */
#include "base/err.h"
#include "hf/packs.h"
#include "hf/tensors.h"

#include <stdlib.h>
#include <string.h>

static int compare_module_names(const void *a, const void *b)
{
	const struct infer_str *x = a, *y = b;
	size_t n = x->len < y->len ? x->len : y->len;
	int c = n ? memcmp(x->at, y->at, n) : 0;

	return c ? c : x->len < y->len ? -1 : x->len > y->len;
}

int hf_names_read(struct hf_dir *d, const struct json *q, const char *key, struct hf_names *n,
                  infer_error *err)
{
	const struct json *list = json_get(q, key);
	struct infer_str *at;

	*n = (struct hf_names){ .key = key };
	if (!json_count(list))
		return INFER_OK;
	n->at = at = arena_alloc(&d->brief, json_count(list), sizeof *at);
	if (!at)
		return hf_nomem(d, err);
	json_each(v, list)
		at[n->n++] = (struct infer_str){ json_str(v), json_bytes(v) };
	qsort(at, (size_t)n->n, sizeof *at, compare_module_names);
	return INFER_OK;
}

int hf_names_check(const struct hf_dir *d, const struct hf_names *n, const struct hf_packed *p,
                   infer_error *err)
{
	if (!n->n || !bsearch(&p->module, n->at, (size_t)n->n, sizeof *n->at, compare_module_names))
		return INFER_OK;
	return hf_bad_tensor(d, p->part[0], INFER_EFORMAT, err,
	                     "its module is in \"%s\" of the quantisation config", n->key);
}
