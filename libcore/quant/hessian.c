/* quant/hessian.c - Hessians: sums of x x' over the input rows x of weight matrices. */
#include "quant/hessian.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/sha256.h"
#include "type/type.h"

#include <stdio.h>
#include <string.h>

enum { WINDOW = 512, PANEL = 64 };
#define MOST_BYTES (UINT64_C(512) << 20)

typedef float v4 __attribute__((vector_size(16)));
#if defined __x86_64__
typedef float v8 __attribute__((vector_size(32)));
typedef float v16 __attribute__((vector_size(64)));
#endif

int infer_gptq_new(infer_gptq **out, const struct infer_solver *solver, infer_error *err)
{
	infer_gptq *g = *out = mem_zalloc(MEM_QUANT, 1, sizeof *g);

	if (!g)
		return err_nomem(err);
	arena_init(&g->mem, MEM_QUANT);
	if (map_init(&g->names, MEM_QUANT, 256)) {
		mem_free(g);
		*out = NULL;
		return err_nomem(err);
	}
	g->solver = *solver;
	snprintf(g->core, sizeof g->core, "%s", solver->core);
	g->solver.core = g->core;
	return INFER_OK;
}

void hessian_drop(struct infer_gptq *g)
{
	for (int i = 0; i < g->n; i++) {
		mem_free(g->at[i].h);
		mem_free(g->at[i].importance);
		mem_free(g->at[i].left);
		g->at[i].h = NULL;
		g->at[i].importance = NULL;
		g->at[i].left = NULL;
		g->at[i].n_left = 0;
		g->at[i].u = NULL;
		g->at[i].rows = 0;
	}
}

void infer_gptq_free(infer_gptq *g)
{
	if (!g)
		return;
	hessian_drop(g);
	map_fini(&g->names);
	arena_fini(&g->mem);
	mem_free(g->inputs);
	mem_free(g->at);
	mem_free(g);
}

/* ---- sums ---- */

struct sums {
	double *h;
	const float *rows; /* panels of PANEL columns, HESSIAN_ROWS rows each */
	int64_t k, panels;
	int n, width; /* width: type_width() */
};

/* Compute the products of ROWS columns of panel a with 16 of panel b, summed over n rows.  Each
 * product has its own sum in the order of the rows, so every register width gives the same bits. */
#define CORNER(name, target, V, SETS, ROWS) \
	target static void name(const float *a, const float *b, int n, float out[ROWS][16]) \
	{ \
		V s[ROWS][SETS] = { { { 0 } } }, x[SETS]; \
\
		for (int r = 0; r < n; r++, a += PANEL, b += PANEL) { \
			memcpy(x, b, sizeof x); \
			for (int i = 0; i < ROWS; i++) \
				for (int k = 0; k < SETS; k++) \
					s[i][k] += x[k] * a[i]; \
		} \
		memcpy(out, s, sizeof s); \
	}
#define ANY
CORNER(corner_plain, ANY, v4, 4, 2)
#if defined __x86_64__
CORNER(corner_avx2, __attribute__((target("avx2"))), v8, 2, 4)
CORNER(corner_avx512, __attribute__((target("avx512f"))), v16, 1, 8)
#endif

/* Compute the products of 8 columns of panel a with 16 of panel b. */
static void corner(const float *a, const float *b, int n, int width, float out[8][16])
{
	if (width == 1)
		for (int i = 0; i < 8; i += 2)
			corner_plain(a + i, b, n, out + i);
#if defined __x86_64__
	else if (width == 4)
		corner_avx512(a, b, n, out);
	else
		for (int i = 0; i < 8; i += 4)
			corner_avx2(a + i, b, n, out + i);
#endif
}

static void tile(void *user, int64_t item, int worker)
{
	const struct sums *s = user;
	int64_t pi = 0, left = item;

	(void)worker;
	while (left >= s->panels - pi)
		left -= s->panels - pi++;
	int64_t pj = pi + left;
	const float *a = s->rows + pi * PANEL * HESSIAN_ROWS,
		    *b = s->rows + pj * PANEL * HESSIAN_ROWS;
	float part[8][16];

	for (int i = 0; i < PANEL; i += 8)
		for (int j = pi == pj ? i / 16 * 16 : 0; j < PANEL; j += 16) {
			corner(a + i, b + j, s->n, s->width, part);
			for (int64_t r = pi * PANEL + i; r < pi * PANEL + i + 8; r++)
				for (int64_t c = pj * PANEL + j; c < pj * PANEL + j + 16; c++)
					if (r < s->k && c < s->k && c >= r)
						s->h[r * s->k + c] += (double)part[r % 8][c % 16];
		}
}

/* Copy rows into panels of PANEL columns; the last panel is padded with zeros. */
static void pack(float *to, int64_t k, const float *const *x, int n)
{
	int64_t panels = (k + PANEL - 1) / PANEL;

	for (int64_t p = 0; p < panels; p++)
		for (int r = 0; r < n; r++) {
			float *at = to + (p * HESSIAN_ROWS + r) * PANEL;
			int64_t has = num_min(PANEL, k - p * PANEL);

			memset(at, 0, PANEL * sizeof *at);
			memcpy(at, x[r] + p * PANEL, (size_t)has * sizeof *at);
		}
}

void hessian_add(double *h, int64_t k, const float *const *x, int n, float *rows, struct pool *pool,
                 int how)
{
	struct sums s = { h, rows, k, (k + PANEL - 1) / PANEL, n, type_width(how) };

	pack(rows, k, x, n);
	pool_run(pool, s.panels * (s.panels + 1) / 2, tile, &s);
}

static void flush_rows(struct infer_gptq *g, struct hessian *h)
{
	const float *x[HESSIAN_ROWS];

	for (int r = 0; r < h->n_left; r++)
		x[r] = h->left + r * h->k;
	hessian_add(h->h, h->k, x, h->n_left, g->rows, g->pool, g->how);
	h->rows += (uint64_t)h->n_left;
	h->n_left = 0;
}

static void add_rows(struct infer_gptq *g, struct hessian *h, const struct infer_inputs *in)
{
	for (int32_t i = 0; i < in->n; i++) {
		const float *row = in->x + (size_t)(in->at ? in->at[i] : i) * in->ld + h->from;

		memcpy(h->left + h->n_left++ * h->k, row, (size_t)h->k * sizeof *row);
		if (h->n_left == HESSIAN_ROWS)
			flush_rows(g, h);
	}
}

/* ---- observing the engine ---- */

static uint64_t hash_of(const struct infer_inputs *in)
{
	uint64_t h = 14695981039346656037u ^ (uint64_t)in->k;

	for (int32_t i = 0; i < in->n; i++) {
		const float *row = in->x + (size_t)(in->at ? in->at[i] : i) * in->ld;

		for (int32_t c = 0; c < in->k; c++)
			h = (h ^ num_bits(row[c])) * 1099511628211u;
	}
	return h;
}

static struct hessian_input *find_input(const struct infer_gptq *g, struct infer_str name)
{
	const uint32_t *i = map_get(&g->names, name.at, name.len);

	return i ? &g->inputs[*i] : NULL;
}

const struct hessian_input *hessian_find(const struct infer_gptq *g, const struct infer_tensor *t)
{
	const struct hessian_input *in = find_input(g, t->name);

	return in && in->k == t->ne[0] && in->matrices == t->ne[2] && t->ne[3] == 1 ? in : NULL;
}

static int grow_array(void **at, int n, int *cap, size_t size)
{
	if (n < *cap)
		return 0;
	void *p = mem_realloc(MEM_QUANT, *at, (size_t)(n + n / 2 + 64), size);

	if (!p)
		return -1;
	*at = p;
	*cap = n + n / 2 + 64;
	return 0;
}

/* Add the Hessians of an input: one for each matrix and each part of its columns.  The parts have
 * about the same size.  Returns -1 if out of memory. */
static int add_hessians(struct infer_gptq *g, const struct hessian_input *in)
{
	int parts = hessian_parts(in->k);
	int64_t size = (in->k + parts - 1) / parts;

	if (parts > 1)
		size = (size + HESSIAN_PIECE - 1) / HESSIAN_PIECE * HESSIAN_PIECE;
	for (int64_t m = 0; m < in->matrices; m++)
		for (int p = 0; p < parts; p++) {
			if (grow_array((void **)&g->at, g->n, &g->cap, sizeof *g->at))
				return -1;
			g->at[g->n++] = (struct hessian){ .from = p * size,
				                          .k = num_min(size, in->k - p * size) };
		}
	return 0;
}

/* Add a tensor to the inputs, with the Hessians of the previous one if both read the same rows. */
static void add_input(struct infer_gptq *g, const struct infer_inputs *in)
{
	struct hessian_input made = { .k = in->k,
		                      .matrices = in->tensor->n_dims > 2 ? in->tensor->ne[2] : 1,
		                      .own = 1,
		                      .first = g->n,
		                      .hash = hash_of(in) };
	const struct hessian_input *before = g->n_inputs ? &g->inputs[g->n_inputs - 1] : NULL;
	struct infer_str name = in->tensor->name;

	if (before && made.matrices == 1 && before->matrices == 1 && before->hash == made.hash &&
	    before->k == made.k) {
		made.own = 0;
		made.first = before->first;
	}
	made.name = arena_strndup(&g->mem, name.at, name.len);
	if (g->mem.bad ||
	    grow_array((void **)&g->inputs, g->n_inputs, &g->cap_inputs, sizeof made) ||
	    (made.own && add_hessians(g, &made)) ||
	    map_put(&g->names, made.name, name.len, (uint32_t)g->n_inputs)) {
		err_nomem(&g->err);
		return;
	}
	g->inputs[g->n_inputs++] = made;
}

static void on_inputs(void *user, const struct infer_inputs *in)
{
	struct infer_gptq *g = user;
	const struct infer_inputs *l = &g->last;
	struct infer_str name = in->tensor->name;

	if (g->err.code || (!g->looking && !g->pool) || name.len < 4 || memcmp(name.at, "blk.", 4))
		return;
	if (l->tensor == in->tensor && l->matrix == in->matrix && l->x == in->x)
		return;
	g->last = *in;
	struct hessian_input *input = find_input(g, name);

	if (g->looking && !input)
		add_input(g, in);
	if (g->looking || !input || !input->own || in->k != input->k)
		return;
	int parts = hessian_parts(input->k), first = input->first + in->matrix * parts;

	for (int p = first; p < first + parts; p++)
		if (g->at[p].h)
			add_rows(g, &g->at[p], in);
}

struct infer_observer infer_gptq_observer(infer_gptq *g)
{
	return (struct infer_observer){ on_inputs, g };
}

/* ---- running the text ---- */

static int submit_window(struct infer_gptq *g, const int32_t *ids, int32_t n, infer_error *err)
{
	const struct infer_request q = { .prompt = ids,
		                         .n_prompt = (size_t)n,
		                         .flags = INFER_REQ_NO_TEXT | INFER_REQ_SCORE };
	infer_engine *e = g->text.engine;
	struct infer_event ev;

	TRY(infer_engine_submit(e, &q, NULL, err));
	while (infer_engine_busy(e)) {
		/* forget the last input: the next step may have other rows at its address */
		g->last = (struct infer_inputs){ 0 };
		TRY(infer_engine_step(e, err));
		while (infer_engine_next(e, &ev))
			if (ev.kind == INFER_EVENT_DONE && ev.code)
				return err_set(err, ev.code, "%s", ev.message);
	}
	return g->err.code ? err_set(err, g->err.code, "%s", g->err.message) : INFER_OK;
}

static int submit_windows(struct infer_gptq *g, size_t n, infer_error *err)
{
	const struct infer_gptq_text *t = &g->text;
	size_t size = (size_t)t->window;
	int32_t *ids = mem_alloc(MEM_QUANT, size, sizeof *ids);
	int rc = ids ? INFER_OK : err_nomem(err);

	for (size_t w = 0; !rc && w < n; w++) {
		memcpy(ids, t->ids + w * size, size * sizeof *ids);
		if (infer_model_adds_bos(t->model))
			ids[0] = infer_token_special(infer_model_tokenizer(t->model), INFER_BOS);
		rc = submit_window(g, ids, t->window, err);
	}
	mem_free(ids);
	return rc;
}

static void identify(struct infer_gptq *g)
{
	struct infer_engine_info e;
	struct sha256 s;
	uint8_t sum[32];

	infer_engine_info(g->text.engine, &e);
	const int32_t how[4] = { g->text.window, e.k_type, e.v_type, e.act_type };

	sha256_init(&s);
	sha256_add(&s, g->text.ids, g->text.n_ids * sizeof *g->text.ids);
	sha256_add(&s, how, sizeof how);
	sha256_add(&s, &g->text.damping, sizeof g->text.damping);
	sha256_add(&s, g->core, strlen(g->core));
	sha256_end(&s, sum);
	sha256_hex(sum, g->id);
}

int infer_gptq_read(infer_gptq *g, const struct infer_gptq_text *t, infer_error *err)
{
	g->text = *t;
	if (!g->text.window)
		g->text.window = WINDOW;
	if (!(g->text.damping > 0))
		g->text.damping = 0.01;
	if (!g->text.most_bytes)
		g->text.most_bytes = MOST_BYTES;
	if (t->n_ids < (size_t)g->text.window)
		return err_set(err, INFER_EINVAL, "the text has %zu tokens; a window has %d",
		               t->n_ids, (int)g->text.window);
	identify(g);
	g->looking = 1;
	int rc = submit_windows(g, 1, err);

	g->looking = 0;
	return rc;
}

/* ---- passes ---- */

static int all_finite(const struct infer_gptq *g, infer_error *err)
{
	for (int i = 0; i < g->n; i++)
		for (int64_t c = 0; g->at[i].h && c < g->at[i].k; c++)
			if (!isfinite(g->at[i].h[c * (g->at[i].k + 1)]))
				return err_set(err, INFER_ENAN,
				               "a Hessian is not finite in column %lld",
				               (long long)(g->at[i].from + c));
	return INFER_OK;
}

/* Allocate the Hessians order[0 .. *got); *got is at least 1, at most n, as most_bytes allows. */
static int begin_pass(struct infer_gptq *g, const int *order, int n, int *got, infer_error *err)
{
	uint64_t bytes = 0;
	int64_t widest = 0;

	hessian_drop(g);
	for (*got = 0; *got < n; ++*got) {
		struct hessian *h = &g->at[order[*got]];
		uint64_t more = (uint64_t)(h->k * h->k) * sizeof *h->h;

		if (h->h)
			continue;
		if (bytes && bytes + more > g->text.most_bytes)
			break;
		h->h = mem_zalloc(MEM_QUANT, (size_t)(h->k * h->k), sizeof *h->h);
		h->importance = mem_alloc(MEM_QUANT, (size_t)h->k, sizeof *h->importance);
		h->left = mem_alloc(MEM_QUANT, (size_t)h->k, HESSIAN_ROWS * sizeof *h->left);
		if (!h->h || !h->importance || !h->left)
			return err_nomem(err);
		bytes += more;
		widest = num_max(widest, h->k);
	}
	g->rows = mem_alloc(MEM_QUANT, (size_t)(widest + PANEL), HESSIAN_ROWS * sizeof *g->rows);
	return g->rows ? INFER_OK : err_nomem(err);
}

/* Add the rows left over to the sums, and compute the importances of the columns. */
static void finish_hessian(struct infer_gptq *g, struct hessian *h)
{
	if (h->n_left)
		flush_rows(g, h);
	mem_free(h->left);
	h->left = NULL;
	for (int64_t c = 0; c < h->k; c++)
		h->importance[c] =
			(float)(h->h[c * (h->k + 1)] / (double)num_max(1, (int64_t)h->rows));
}

static void log_pass(const struct infer_gptq *g, size_t all, int got, int n)
{
	char line[160];

	snprintf(line, sizeof line,
	         "pass %d over %zu windows of %d tokens: Hessians for %d of %d matrices", g->passes,
	         all, (int)g->text.window, got, n);
	if (g->text.log)
		g->text.log(g->text.log_user, INFER_LOG_INFO, line);
}

int hessian_measure(struct infer_gptq *g, struct pool *pool, int how, const int *order, int n,
                    int *got, infer_error *err)
{
	size_t all = g->text.n_ids / (size_t)g->text.window;
	int rc = begin_pass(g, order, n, got, err);

	g->passes++;
	g->pool = pool;
	g->how = how;
	if (!rc) {
		log_pass(g, all, *got, n);
		rc = submit_windows(g, all, err);
	}
	for (int i = 0; !rc && i < g->n; i++)
		if (g->at[i].h)
			finish_hessian(g, &g->at[i]);
	g->pool = NULL;
	mem_free(g->rows);
	g->rows = NULL;
	return rc ? rc : all_finite(g, err);
}

/* ---- factors ---- */

/* Reverse the elements of a matrix, which reverses its rows and columns: an upper triangle
 * becomes a lower one. */
static void reverse_matrix(double *a, int64_t n)
{
	for (int64_t i = 0; i < n / 2; i++) {
		double x = a[i];

		a[i] = a[n - 1 - i];
		a[n - 1 - i] = x;
	}
}

/* Let J be the reversal of rows and columns.  From J H J = L L' follows inverse(H) = U' U with
 * the upper triangular U = J inverse(L) J: one Cholesky factor and one inverse of a triangle, in
 * place. */
int hessian_factor(struct infer_gptq *g, struct hessian *h, infer_error *err)
{
	int64_t n = h->k * h->k;
	double mean = 0;

	for (int64_t i = 0; i < h->k; i++)
		mean += h->h[i * (h->k + 1)] / (double)h->k;
	for (int64_t i = 0; i < h->k; i++)
		h->h[i * (h->k + 1)] += mean > 0 ? g->text.damping * mean : 1;
	reverse_matrix(h->h, n);
	if (g->solver.factor(h->h, (int)h->k) || g->solver.invert(h->h, (int)h->k))
		return err_set(
			err, INFER_ENAN,
			"a Hessian of %lld columns cannot be inverted: use more damping or a "
			"longer text",
			(long long)h->k);
	reverse_matrix(h->h, n);
	char *bytes = (char *)h->h;

	for (int64_t i = 0; i < n; i++) { /* in place: float i does not overlap double i + 1 */
		float f = (float)h->h[i];
		memcpy(bytes + 4 * i, &f, 4);
	}
	h->u = (const float *)(const void *)h->h;
	return INFER_OK;
}
