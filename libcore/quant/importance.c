/* quant/importance.c - importances for quantising: read them from GGUF or .dat, and weight
 * errors by them. */
#include "quant/importance.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/num.h"
#include "base/os.h"
#include "base/sha256.h"
#include "file/file.h"
#include "quant/imatrix_dat.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { NAMES_MAX = 256 };

struct entry {
	struct infer_str name;
	const float *at;
	size_t n;
	float rows;      /* rows measured for the matrix with the fewest rows */
	uint64_t rarest; /* index of that matrix */
};
struct importance {
	struct arena mem; /* memory of names and values */
	struct map map;   /* name -> index */
	struct entry *entries;
	uint32_t n, cap, chunks;
	struct infer_str dataset;
};

/* Add an entry.  The caller then stores its n values in *at. */
static int new_entry(struct importance *m, struct infer_str name, size_t n, float **at,
                     infer_error *err)
{
	struct entry *e;

	if (m->n == m->cap) {
		uint32_t cap = m->cap ? 2 * m->cap : 64;

		e = mem_realloc(MEM_QUANT, m->entries, cap, sizeof *e);
		if (!e)
			return err_nomem(err);
		m->entries = e;
		m->cap = cap;
	}
	char *own = arena_strndup(&m->mem, name.at, name.len);
	*at = arena_alloc(&m->mem, n, sizeof **at);
	if (!own || !*at)
		return err_nomem(err);
	m->entries[m->n] = (struct entry){ { own, name.len }, *at, n, HUGE_VALF, 0 };
	int rc = map_put(&m->map, own, name.len, m->n);
	if (rc == INFER_EINVAL)
		return err_set(err, INFER_EFORMAT, "the importances of %.*s occur twice",
		               (int)num_min((int64_t)name.len, 80), own);
	if (rc)
		return err_nomem(err);
	m->n++;
	return INFER_OK;
}

/* Set *to to sum / count, or 1 if count is 0.  INFER_EFORMAT: it is negative or not finite. */
static int set_mean(float *to, float sum, double count, struct infer_str name, size_t i,
                    infer_error *err)
{
	float v = count > 0 ? (float)((double)sum / count) : 1;

	if (!(v >= 0 && v <= FLT_MAX))
		return err_set(err, INFER_EFORMAT, "importance %zu of %.*s: %g over %g rows", i,
		               (int)num_min((int64_t)name.len, 80), name.at, (double)sum, count);
	*to = v;
	return INFER_OK;
}

/* ---- GGUF: NAME.in_sum2 f32 [columns, matrices] and NAME.counts f32 [1, matrices] ---- */

static uint64_t count_elements(const struct infer_tensor *t)
{
	return (uint64_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
}

static int read_sums(struct importance *m, const infer_file *f, const struct infer_tensor *sums,
                     struct infer_str name, infer_error *err)
{
	char counts_name[NAMES_MAX + 16];
	float *to, count;

	if (name.len > NAMES_MAX)
		return err_set(err, INFER_EFORMAT, "a name of %zu bytes", name.len);
	memcpy(counts_name, name.at, name.len);
	strcpy(counts_name + name.len, ".counts");
	const struct infer_tensor *counts = infer_file_tensor(f, counts_name);
	uint64_t n = count_elements(sums), c = counts ? count_elements(counts) : 0;

	if (!c || !n || n % c || sums->type != INFER_F32 || counts->type != INFER_F32)
		return err_set(err, INFER_EFORMAT, "importances of %.*s: no counts fit the sums",
		               (int)num_min((int64_t)name.len, 80), name.at);
	TRY(new_entry(m, name, n, &to, err));
	for (uint64_t i = 0; i < n; i++) {
		float sum;

		memcpy(&sum, (const char *)sums->data + 4 * i, 4);
		memcpy(&count, (const char *)counts->data + 4 * (i / (n / c)), 4);
		TRY(set_mean(&to[i], sum, (double)count, name, i, err));
		struct entry *e = &m->entries[m->n - 1];
		if (count < e->rows) {
			e->rows = count;
			e->rarest = i / (n / c);
		}
	}
	return INFER_OK;
}

static int read_gguf(struct importance *m, const infer_file *f, infer_error *err)
{
	static const char end[] = ".in_sum2";
	struct infer_str type = { "", 0 }, set;
	const struct infer_meta *sets = infer_file_meta(f, "imatrix.datasets");
	const struct infer_tensor *t;
	uint64_t chunks = 0;

	TRY(infer_meta_str(f, "general.type", &type, NULL, err));
	if (type.len != 7 || memcmp(type.at, "imatrix", 7))
		return err_set(err, INFER_EFORMAT, "general.type is not imatrix");
	TRY(infer_meta_u64(f, "imatrix.chunk_count", &chunks, NULL, err));
	m->chunks = (uint32_t)chunks;
	if (sets && sets->elem_type == INFER_META_STR && sets->count) {
		TRY(infer_meta_str_at(f, sets, 0, &set, err));
		m->dataset = (struct infer_str){ arena_strndup(&m->mem, set.at, set.len), set.len };
		if (!m->dataset.at)
			return err_nomem(err);
	}
	for (uint64_t i = 0; (t = infer_file_tensor_at(f, i)); i++) {
		struct infer_str name = t->name;

		if (name.len < sizeof end ||
		    memcmp(name.at + name.len - (sizeof end - 1), end, sizeof end - 1))
			continue;
		name.len -= sizeof end - 1;
		TRY(read_sums(m, f, t, name, err));
	}
	return INFER_OK;
}

static int read_dat(struct importance *m, const struct os_file *map, infer_error *err)
{
	struct dat_entry e;
	struct dat d;
	float *to;

	TRY(dat_begin(&d, map->at, map->bytes, err));
	while (d.left) {
		TRY(dat_next(&d, &e, err));
		TRY(new_entry(m, e.name, e.n, &to, err));
		for (size_t i = 0; i < e.n; i++)
			TRY(set_mean(&to[i], dat_value(&e, i), e.calls ? (double)e.calls : 1,
			             e.name, i, err));
	}
	TRY(dat_end(&d, err));
	m->chunks = d.chunks;
	m->dataset = (struct infer_str){ arena_strndup(&m->mem, d.dataset.at, d.dataset.len),
		                         d.dataset.len };
	return m->dataset.at ? INFER_OK : err_nomem(err);
}

static int read_any(struct importance *m, const char *path, infer_error *err)
{
	struct os_file map = { 0 };
	infer_file *f = NULL;
	int rc;

	TRY(os_file_map(&map, path, err));
	if (map.bytes < 4 || memcmp(map.at, "GGUF", 4)) {
		rc = read_dat(m, &map, err);
	} else {
		rc = infer_file_open(&f, path, err);
		if (!rc)
			rc = read_gguf(m, f, err);
		infer_file_close(&f);
	}
	os_file_unmap(&map);
	return rc;
}

int importance_open(struct importance **out, const char *path, infer_error *err)
{
	struct importance *m = mem_zalloc(MEM_QUANT, 1, sizeof *m);
	infer_error why = { 0 };

	*out = NULL;
	if (!m)
		return err_nomem(err);
	arena_init(&m->mem, MEM_QUANT);
	if (map_init(&m->map, MEM_QUANT, 64))
		err_nomem(&why);
	else
		read_any(m, path, &why);
	if (!why.code && !m->n)
		err_set(&why, INFER_EFORMAT, "contains no importances");
	if (why.code) {
		importance_free(m);
		return strstr(why.message, path) || why.code == INFER_ENOMEM
		               ? err_set(err, why.code, "%s", why.message)
		               : err_set(err, why.code, "%s: %s", file_label(path), why.message);
	}
	*out = m;
	return INFER_OK;
}

void importance_free(struct importance *m)
{
	if (!m)
		return;
	map_fini(&m->map);
	arena_fini(&m->mem);
	mem_free(m->entries);
	mem_free(m);
}

const float *importance_get(const struct importance *m, struct infer_str tensor, size_t *n)
{
	const uint32_t *i = map_get(&m->map, tensor.at, tensor.len);

	*n = i ? m->entries[*i].n : 0;
	return i ? m->entries[*i].at : NULL;
}

float importance_rows(const struct importance *m, struct infer_str tensor, uint64_t *matrix)
{
	const uint32_t *i = map_get(&m->map, tensor.at, tensor.len);

	*matrix = i ? m->entries[*i].rarest : 0;
	return i ? m->entries[*i].rows : 0;
}

uint32_t importance_entries(const struct importance *m) { return m->n; }
uint32_t importance_chunks(const struct importance *m) { return m->chunks; }
struct infer_str importance_dataset(const struct importance *m) { return m->dataset; }

void importance_sha256(const struct importance *m, char hex[65])
{
	struct sha256 s;
	uint8_t sum[32];

	sha256_init(&s);
	for (uint32_t i = 0; i < m->n; i++) {
		sha256_add(&s, m->entries[i].name.at, m->entries[i].name.len + 1);
		sha256_add(&s, m->entries[i].at, m->entries[i].n * sizeof(float));
	}
	sha256_end(&s, sum);
	sha256_hex(sum, hex);
}

/* Other quantisers weight the squared error of an element x by importance * sqrt(sigma2 + x^2),
 * sigma2 = f * (mean square of the block), so that errors of large elements cost more.  Return f,
 * or 0 to weight by the importance alone: for the types with 0 the factor did not reduce the
 * measured divergence. */
static float sigma2_factor(int type)
{
	switch (type) {
	case INFER_Q4_0:
	case INFER_Q4_1:
	case INFER_Q8_0:
	case INFER_Q6_K:
	case INFER_IQ3_XXS:
	case INFER_Q1_0: /* its scale is a mean magnitude, which the factor would increase */
		return 0;
	case INFER_Q5_0:
	case INFER_Q5_1:
	case INFER_Q2_K:
	case INFER_IQ2_XXS:
	case INFER_IQ2_XS:
		return 1;
	default:
		return 2;
	}
}

/* Return sigma2 of a block, `times` its mean square. */
static double block_sigma2(float times, const float *src, size_t block)
{
	double sum = 0;

	for (size_t j = 0; j < block; j++)
		sum += (double)src[j] * (double)src[j];
	return (double)times * sum / (double)block;
}

void importance_weigh(float *w, int type, const float *src, const float *columns, size_t n)
{
	size_t block = (size_t)infer_type_info(type)->block;
	float times = sigma2_factor(type);

	for (size_t i = 0; i < n; i += block) {
		double sigma2 = block_sigma2(times, src + i, block);

		for (size_t j = i; j < i + block; j++) {
			double x = (double)src[j],
			       v = (double)columns[j] * (times > 0 ? sqrt(sigma2 + x * x) : 1);

			w[j] = v < 1e30 ? (float)v : 1e30f;
		}
	}
}

int importance_alone(float *w, int type, const float *src, size_t n)
{
	size_t block = (size_t)infer_type_info(type)->block;
	float times = sigma2_factor(type);

	if (type != INFER_Q2_K && type != INFER_Q3_K && type != INFER_Q4_K && type != INFER_Q5_K)
		return 0;
	for (size_t i = 0; i < n; i += block) {
		double sigma2 = block_sigma2(times, src + i, block);

		for (size_t j = i; j < i + block; j++) {
			double v = sigma2 + (double)src[j] * (double)src[j];

			w[j] = v < 1e30 ? (float)v : 1e30f;
		}
	}
	return 1;
}
