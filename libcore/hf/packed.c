/* hf/packed.c - replace the stored tensors of each quantised weight by one tensor. */
#include "hf/packed.h"
#include "base/err.h"
#include "hf/tensors.h"
#include "type/type.h"

#include <string.h>

/* A method of packing_list.h that accepts the configuration. */
struct method {
	const struct packing *how;
	const void *own; /* result of how->config */
	int unused[PACKED_UNUSED];
};

struct gather {
	struct hf_dir *d;
	struct method *methods;
	int n_methods;
	struct hf_packed **at; /* [n] */
	uint32_t n;
	struct map map;      /* module -> index */
	unsigned char *gone; /* [d->raw.n] 1: part of a weight, or unused */
};

/* True if the name of a part follows MODULE without a "." */
static int is_joined(const char *part) { return !*part || *part == '_'; }

/* True if s is MODULE followed by `part`.  Sets *module. */
static int has_part(struct infer_str s, const char *part, struct infer_str *module)
{
	size_t n = strlen(part), dot = !is_joined(part);

	if (s.len <= n + dot || memcmp(s.at + s.len - n, part, n) ||
	    (dot && s.at[s.len - n - 1] != '.'))
		return 0;
	*module = (struct infer_str){ s.at, s.len - n - dot };
	return 1;
}

static int find_methods(struct gather *g, infer_error *err)
{
#define PACKING(x) &packing_##x,
	static const struct packing *const rows[] = {
#include "hf/packing_list.h"
		NULL
	};
#undef PACKING
	struct hf_dir *d = g->d;

	g->methods = arena_alloc(&d->brief, sizeof rows / sizeof *rows, sizeof *g->methods);
	if (!g->methods)
		return hf_nomem(d, err);
	for (int i = 0; rows[i]; i++)
		if (hf_packing_takes(rows[i], &d->quant)) {
			struct method *m = &g->methods[g->n_methods++];
			m->how = rows[i];
			TRY(rows[i]->config(d, d->quant.at, &m->own, err));
		}
	return INFER_OK;
}

/* Add the module of tensor t if it is quantised and not yet in g. */
static int find_module(struct gather *g, const struct safetensors_tensor *t, infer_error *err)
{
	struct hf_dir *d = g->d;
	struct infer_str module;

	for (int i = 0; i < g->n_methods; i++) {
		struct method *m = &g->methods[i];
		if (!has_part(t->name, m->how->parts[0], &module) || hf_is_media(module))
			continue;
		if (map_get(&g->map, module.at, module.len))
			return INFER_OK;
		struct hf_packed *p = arena_alloc(&d->arena, 1, sizeof *p);
		if (!p)
			return hf_nomem(d, err);
		p->how = m->how;
		p->own = m->own;
		p->module.at = arena_strndup(&d->arena, module.at, module.len);
		p->module.len = module.len;
		if (!p->module.at || map_put(&g->map, p->module.at, module.len, g->n))
			return hf_nomem(d, err);
		g->at[g->n++] = p;
		return INFER_OK;
	}
	return INFER_OK;
}

/* Find the parts of a module. */
static int find_parts(struct gather *g, struct hf_packed *p, infer_error *err)
{
	struct hf_dir *d = g->d;

	for (int i = 0; i < PACKED_PARTS && p->how->parts[i]; i++) {
		const char *part = p->how->parts[i];
		size_t n = p->module.len, dot = !is_joined(part), len = strlen(part);
		char *name = arena_raw(&d->brief, n + dot + len + 1);
		if (!name)
			return hf_nomem(d, err);
		memcpy(name, p->module.at, n);
		if (dot)
			name[n] = '.';
		memcpy(name + n + dot, part, len);
		p->part[i] = safetensors_find(&d->raw, name, n + dot + len);
		if (!p->part[i])
			continue;
		if (g->gone[p->part[i] - d->raw.at])
			return hf_bad_tensor(d, p->part[i], INFER_EFORMAT, err,
			                     "it is part of two quantised weights");
		g->gone[p->part[i] - d->raw.at] = 1;
	}
	return INFER_OK;
}

/* Check the sizes that how->open has set. */
static int check_sizes(const struct hf_dir *d, const struct hf_packed *p, infer_error *err)
{
	const struct type *t = type_get(p->type), *g = type_get(p->general);
	int64_t n = 0;

	if (p->mats < 1 || p->rows < 1 || p->cols < 1 ||
	    __builtin_mul_overflow(p->mats, p->rows, &n) ||
	    __builtin_mul_overflow(n, p->cols, &n) || n > INT64_MAX / 8)
		return hf_bad_tensor(d, p->part[0], INFER_EFORMAT, err,
		                     "%lld matrices of %lld rows and %lld columns",
		                     (long long)p->mats, (long long)p->rows, (long long)p->cols);
	if (!t || p->cols % t->info.block || (p->general && p->cols % g->info.block))
		return hf_bad_tensor(d, p->part[0], INFER_EUNSUP, err,
		                     "%lld columns are not a multiple of the block of %s",
		                     (long long)p->cols, t ? t->info.name : "any type");
	return INFER_OK;
}

/* Drop tensor i if no weight needs it, and count it. */
static void drop_unused(struct gather *g, uint32_t i)
{
	const struct infer_str s = g->d->raw.at[i].name;
	struct infer_str module;

	for (int k = 0; k < g->n_methods; k++) {
		struct method *m = &g->methods[k];
		for (int u = 0; u < PACKED_UNUSED && m->how->unused[u]; u++)
			if (!g->gone[i] && has_part(s, m->how->unused[u], &module)) {
				g->gone[i] = 1;
				m->unused[u]++;
			}
	}
}

static int note_unused(const struct gather *g, infer_error *err)
{
	for (int k = 0; k < g->n_methods; k++)
		for (int u = 0; u < PACKED_UNUSED; u++)
			if (g->methods[k].unused[u])
				TRY(hf_note(
					g->d, err,
					"tensors left out: %d %s (scales of activations "
					"or of a cache, which --act-type and --kv-type replace)",
					g->methods[k].unused[u], g->methods[k].how->unused[u]));
	return INFER_OK;
}

/* Fail for a part of a weight whose first part is missing. */
static int check_left(const struct gather *g, uint32_t i, infer_error *err)
{
	const struct safetensors_tensor *t = &g->d->raw.at[i];
	struct infer_str module;

	for (int k = 0; k < g->n_methods; k++) {
		const struct packing *how = g->methods[k].how;
		for (int part = 1; part < PACKED_PARTS && how->parts[part]; part++) {
			if (!*how->parts[part] || !strcmp(how->parts[part], "weight") ||
			    !has_part(t->name, how->parts[part], &module) || hf_is_media(module))
				continue;
			return hf_bad_tensor(g->d, t, INFER_EFORMAT, err,
			                     "its module has no tensor %s", how->parts[0]);
		}
		if (how->other && !hf_is_media(t->name))
			TRY(how->other(g->d, g->methods[k].own, t, err));
	}
	return INFER_OK;
}

/* Describe the quantised weight p in *t, with the shard, offset and bytes of its parts. */
static int make_tensor(struct hf_dir *d, const struct hf_packed *p, struct safetensors_tensor *t,
                       infer_error *err)
{
	static const char weight[] = ".weight";
	size_t n = p->module.len, joined = is_joined(p->how->parts[0]);
	char *name = arena_raw(&d->arena, n + sizeof weight);

	if (!name)
		return hf_nomem(d, err);
	memcpy(name, p->module.at, n);
	memcpy(name + n, weight, sizeof weight);
	*t = (struct safetensors_tensor){ .name = { name, joined ? n : n + sizeof weight - 1 },
		                          .dtype = ST_PACKED,
		                          .n_dims = p->mats > 1 ? 3 : 2,
		                          .shard = p->part[0]->shard,
		                          .offset = p->part[0]->offset,
		                          .data = p->part[0]->data,
		                          .packed = p };
	if (p->mats > 1)
		t->shape[0] = p->mats;
	t->shape[t->n_dims - 2] = p->rows;
	t->shape[t->n_dims - 1] = p->cols;
	for (int i = 0; i < PACKED_PARTS; i++)
		t->bytes += p->part[i] ? p->part[i]->bytes : 0;
	return INFER_OK;
}

/* Replace the parts of each weight in d->raw by one tensor, at the place of its first part.  The
 * parts stay valid: they are copied. */
static int replace_parts(struct gather *g, infer_error *err)
{
	struct safetensors *raw = &g->d->raw, now = { .cap = raw->n };
	int rc = INFER_OK;

	now.at = mem_zalloc(MEM_FILE, (size_t)raw->n + 1, sizeof *now.at);
	if (!now.at || map_init(&now.map, MEM_FILE, 512))
		rc = hf_nomem(g->d, err);
	for (uint32_t i = 0; i < raw->n && !rc; i++) {
		struct safetensors_tensor *t = &now.at[now.n];
		const struct hf_packed *p = raw->at[i].packed;
		if (g->gone[i] && !p)
			continue;
		*t = raw->at[i];
		t->packed = NULL;
		if (p)
			rc = make_tensor(g->d, p, t, err);
		if (!rc && map_put(&now.map, t->name.at, t->name.len, now.n++))
			rc = hf_bad_tensor(g->d, t, INFER_EFORMAT, err,
			                   "it is there next to its quantised form");
	}
	if (rc) {
		mem_free(now.at);
		map_fini(&now.map);
		return rc;
	}
	now.names = raw->names;
	mem_free(raw->at);
	map_fini(&raw->map);
	*raw = now;
	return INFER_OK;
}

/* Copy the parts of p to d->arena, because d->raw is replaced. */
static int keep_parts(struct hf_dir *d, struct hf_packed *p, infer_error *err)
{
	for (int i = 0; i < PACKED_PARTS; i++) {
		if (!p->part[i])
			continue;
		struct safetensors_tensor *t = arena_alloc(&d->arena, 1, sizeof *t);
		if (!t)
			return hf_nomem(d, err);
		*t = *p->part[i];
		p->part[i] = t;
	}
	return INFER_OK;
}

/* Find the parts of all weights and open the weights. */
static int open_modules(struct gather *g, infer_error *err)
{
	struct hf_dir *d = g->d;

	for (uint32_t i = 0; i < d->raw.n; i++)
		TRY(find_module(g, &d->raw.at[i], err));
	for (uint32_t i = 0; i < g->n; i++) {
		struct hf_packed *p = g->at[i];
		TRY(find_parts(g, p, err));
		d->raw.at[p->part[0] - d->raw.at].packed = p;
		TRY(keep_parts(d, p, err));
		TRY(p->how->open(d, p, err));
		TRY(check_sizes(d, p, err));
	}
	return INFER_OK;
}

int hf_packed_gather(struct hf_dir *d, infer_error *err)
{
	struct gather g = { .d = d };
	int rc;

	if (!d->quant.at)
		return INFER_OK;
	TRY(find_methods(&g, err));
	g.gone = arena_alloc(&d->brief, (size_t)d->raw.n + 1, 1);
	g.at = arena_alloc(&d->brief, (size_t)d->raw.n + 1, sizeof *g.at);
	if (!g.gone || !g.at || map_init(&g.map, MEM_FILE, 512))
		return hf_nomem(d, err);
	rc = open_modules(&g, err);
	if (!rc && !g.n)
		rc = hf_bad_quant(d, INFER_EFORMAT, err, "no tensor is quantised: there is no %s",
		                  g.methods[0].how->parts[0]);
	for (uint32_t i = 0; i < d->raw.n && !rc; i++)
		if (!g.gone[i]) {
			drop_unused(&g, i);
			rc = g.gone[i] ? INFER_OK : check_left(&g, i, err);
		}
	if (!rc)
		rc = note_unused(&g, err);
	if (!rc)
		rc = replace_parts(&g, err);
	map_fini(&g.map);
	return rc;
}
