/* tests/unit/quant/test_gptq.c - Hessians and a rounded matrix compared with numpy
 * (scripts/golden-gptq.py); what rounding so is for: less is lost than by rounding each weight alone,
 * in every type; the same bytes for any threads, registers, passes and stops; what is refused. */
#include "../nth.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infer/quant.h>
#include <infer/type.h>
#include "base/num.h"
#include "base/sha256.h"
#include "quant/gptq.h"
#include "type/type.h"

#define GOLDEN "tests/golden/gptq/"
#define LOGITS "tests/golden/logits/"
enum { MOST_IDS = 128, NAME = 64, ROWS = 4, COLUMNS = 512, TEXT = 96 };

/* Cholesky and the inverse of a triangle, by their definitions. */
static int factor(double *a, int n)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j <= i; j++) {
			double s = a[i * n + j];

			for (int k = 0; k < j; k++)
				s -= a[i * n + k] * a[j * n + k];
			if (i == j && !(s > 0))
				return 1;
			a[i * n + j] = i == j ? sqrt(s) : s / a[j * n + j];
		}
	return 0;
}

static int invert(double *a, int n)
{
	for (int j = 0; j < n; j++) {
		a[j * n + j] = 1 / a[j * n + j];
		for (int i = j + 1; i < n; i++) {
			double s = 0;

			for (int k = j; k < i; k++)
				s -= a[i * n + k] * a[k * n + j];
			a[i * n + j] = s / a[i * n + i];
		}
	}
	return 0;
}

static int refuse(double *a, int n)
{
	(void)a;
	return n;
}

static const struct infer_solver plain = { "plain", factor, invert };

/* As in the script. */
static float noise(uint64_t i)
{
	uint64_t z = i * 0x9E3779B97F4A7C15;
	int64_t s = -131070;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
	z = (z ^ z >> 27) * 0x94D049BB133111EB;
	z ^= z >> 31;
	for (int k = 0; k < 64; k += 16)
		s += (int64_t)(z >> k & 65535);
	return (float)s * 0x1p-16f;
}

/* ---- a matrix ---- */

struct matrix {
	float x[TEXT * COLUMNS], w[ROWS * COLUMNS], lost[ROWS * GPTQ_SPAN];
	unsigned char out[ROWS * COLUMNS];
	double h[COLUMNS * COLUMNS]; /* as measured */
	float rows[HESSIAN_ROWS * (COLUMNS + 64)];
};

static void fill(struct matrix *m, int threads, int how)
{
	const float *rows[TEXT];
	struct pool *pool;

	for (int i = 0; i < ROWS * COLUMNS; i++)
		m->w[i] = noise(1000000 + (uint64_t)i);
	for (int r = 0; r < TEXT; r++) {
		rows[r] = m->x + r * COLUMNS;
		for (int c = COLUMNS - 1; c >= 0; c--)
			m->x[r * COLUMNS + c] = noise(1 + (uint64_t)(r * COLUMNS + c)) +
			                        (c ? noise((uint64_t)(r * COLUMNS + c)) : 0);
	}
	memset(m->h, 0, sizeof m->h);
	assert_int_equal(pool_new(&pool, threads, NULL), INFER_OK);
	hessian_add(m->h, COLUMNS, rows, TEXT / 2, m->rows, pool, how);
	hessian_add(m->h, COLUMNS, rows + TEXT / 2, TEXT - TEXT / 2, m->rows, pool, how);
	pool_free(pool);
}

/* Factor what is in h, and round w with it. */
static void round_all(struct matrix *m, int type, infer_gptq *g)
{
	float importance[COLUMNS];
	struct hessian h = { .k = COLUMNS, .rows = TEXT, .h = m->h, .importance = importance };
	infer_error err;

	for (int c = 0; c < COLUMNS; c++)
		importance[c] = (float)(m->h[c * (COLUMNS + 1)] / TEXT);
	if (hessian_factor(g, &h, &err))
		fail_msg("%s", err.message);
	const struct gptq_rows r = { .type = type,
		                     .k = COLUMNS,
		                     .u = h.u,
		                     .importance = importance,
		                     .rows = ROWS,
		                     .w = m->w,
		                     .lost = m->lost,
		                     .out = m->out,
		                     .stride = COLUMNS };

	gptq_round(&r);
}

static infer_gptq *with_damping(const struct infer_solver *s)
{
	infer_gptq *g;

	assert_int_equal(infer_gptq_new(&g, s, NULL), INFER_OK);
	g->text.damping = 0.01;
	return g;
}

static void test_round(void **state)
{
	static struct matrix m;
	static double sums[COLUMNS * COLUMNS];
	infer_gptq *g = with_damping(&plain);
	char line[256];
	int row = 0;

	(void)state;
	for (int i = 0; i < 3; i++) {
		fill(&m, 2, i == 0 ? ENCODE_128 : i == 1 ? ENCODE_256 : 0);
		if (!i)
			memcpy(sums, m.h, sizeof sums);
		assert_memory_equal(m.h, sums, sizeof sums);
	}
	round_all(&m, INFER_Q1_0, g);
	FILE *f = fopen(GOLDEN "round.txt", "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		int used = 4;

		if (strncmp(line, "row ", 4))
			continue;
		for (int b = 0; b < COLUMNS / 128; b++) {
			const unsigned char *at = m.out + row * COLUMNS + b * 18;
			char codes[33], want[33];
			int d, more;

			assert_int_equal(sscanf(line + used, "%d %32s%n", &d, want, &more), 2);
			used += more;
			for (int i = 0; i < 16; i++)
				snprintf(codes + 2 * i, 3, "%02x", at[17 - i]);
			assert_string_equal(codes, want);
			assert_in_range(num_u16(at), d - 1, d + 1); /* it was rounded twice */
		}
		row++;
	}
	fclose(f);
	assert_int_equal(row, ROWS);
	infer_gptq_free(g);
}

/* e' H e, over the text */
static double loss(const struct matrix *m, int type, const unsigned char *out, size_t stride)
{
	const struct type *t = type_get(type);
	static float back[COLUMNS];
	double all = 0;

	for (int r = 0; r < ROWS; r++) {
		t->decode(back, out + (size_t)r * stride, (size_t)(COLUMNS / t->info.block));
		for (int c = 0; c < COLUMNS; c++)
			back[c] -= noise(1000000 + (uint64_t)(r * COLUMNS + c));
		for (int k = 0; k < TEXT; k++) {
			double y = 0;

			for (int c = 0; c < COLUMNS; c++)
				y += (double)back[c] * (double)m->x[k * COLUMNS + c];
			all += y * y;
		}
	}
	return all;
}

static void test_types(void **state)
{
	static struct matrix m;
	infer_gptq *g = with_damping(&plain);
	int n = 0;

	(void)state;
	for (int type = 0; type < INFER_TYPE_COUNT; type++) {
		static unsigned char alone[ROWS * COLUMNS];
		const struct type *t = type_get(type);

		if (!t->round)
			continue;
		fill(&m, 1, 0);
		for (int r = 0; r < ROWS; r++)
			t->encode(alone + r * COLUMNS, m.w + r * COLUMNS, NULL,
			          (size_t)(COLUMNS / t->info.block), 0);
		round_all(&m, type, g);
		double got = loss(&m, type, m.out, COLUMNS), was = loss(&m, type, alone, COLUMNS);

		if (!(got < 0.9 * was))
			fail_msg("%s: loses %g, and %g without", t->info.name, got, was);
		n++;
	}
	assert_int_equal(n, 23);
	infer_gptq_free(g);
}

/* ---- a model ---- */

struct run {
	infer_gptq *g;
	infer_model *m;
	infer_engine *e;
	infer_quant *q;
	const char *isa; /* of what is written */
};
struct golden {
	char file[NAME];
	int window, n;
	int32_t ids[MOST_IDS];
};

static int run_open(struct run *r, const struct golden *g, int32_t threads, uint64_t most,
                    const struct infer_solver *s, infer_error *err)
{
	struct infer_engine_opts o = { .threads = threads,
		                       .ctx = 64,
		                       .kv_set = 1,
		                       .k_type = INFER_F32,
		                       .v_type = INFER_F32,
		                       .flags = INFER_ENGINE_NO_PREFIX_CACHE };
	char path[256];
	int rc = infer_gptq_new(&r->g, s, err);

	snprintf(path, sizeof path, LOGITS "%s", g->file);
	if (!rc)
		rc = infer_model_open(&r->m, path, NULL, err);
	if (rc)
		return rc;
	o.observer = infer_gptq_observer(r->g);
	rc = infer_engine_open(&r->e, r->m, &o, err);
	const struct infer_gptq_text t = { .model = r->m,
		                           .engine = r->e,
		                           .ids = g->ids,
		                           .n_ids = (size_t)g->n,
		                           .window = g->window,
		                           .most_bytes = most };

	return rc ? rc : infer_gptq_read(r->g, &t, err);
}

static void run_close(struct run *r)
{
	infer_quant_free(r->q);
	infer_engine_close(&r->e);
	infer_model_close(&r->m);
	infer_gptq_free(r->g);
	*r = (struct run){ 0 };
}

static int run_write(struct run *r, const char *type, const char *path, int threads, int verify,
                     infer_error *err)
{
	const struct infer_quant_opts o = {
		.type = type, .verify = verify, .gptq = r->g, .isa = r->isa
	};
	struct infer_quant_result done;
	int rc = infer_quant_new(&r->q, infer_model_file(r->m), &o, err);

	return rc ? rc : infer_quant_write(r->q, path, threads, NULL, &done, err);
}

static void check_hessian(const struct run *r, const char *line)
{
	char name[NAME];
	unsigned long long rows;
	double want[7], sum = 0;
	int matrix, used, found = 0;

	assert_int_equal(sscanf(line, "%63s %d %llu%n", name, &matrix, &rows, &used), 3);
	for (int i = 0, more; i < 7; i++, used += more)
		assert_int_equal(sscanf(line + used, "%lf%n", &want[i], &more), 1);
	for (int i = 0; i < r->g->n_inputs; i++) {
		const struct hessian_input *in = &r->g->inputs[i];
		const struct hessian *h = &r->g->at[in->first + matrix];

		if (strcmp(in->name, name))
			continue;
		found = 1;
		assert_int_equal(h->rows, rows);
		for (int64_t a = 0; a < h->k; a++)
			for (int64_t b = a; b < h->k; b++)
				sum += h->h[a * h->k + b];
		assert_true(fabs(sum - want[0]) <= 1e-5 * fmax(1, fabs(want[0])) + 1e-4);
		for (int64_t a = 0; a < 6; a++) {
			int64_t b = (5 * a + 3) % h->k;
			double is = h->h[a < b ? a * h->k + b : b * h->k + a];

			if (!(fabs(is - want[1 + a]) <= 1e-5 * fmax(1, fabs(want[1 + a]))))
				fail_msg("%s %d, element %d: %.9g for %.9g", name, matrix, (int)a,
				         is, want[1 + a]);
		}
	}
	if (!found)
		fail_msg("%s is not there", name);
}

static void read_case(struct golden *g, const char *line)
{
	int used;

	assert_int_equal(sscanf(line, "case %63s %d %d%n", g->file, &g->window, &g->n, &used), 3);
	assert_true(g->n <= MOST_IDS);
	for (int k = 0, more; k < g->n; k++, used += more)
		sscanf(line + used, "%d%n", &g->ids[k], &more);
}

static void measure_all(struct run *r)
{
	struct pool *pool;
	int order[1024], got;
	infer_error err;

	assert_true(r->g->n <= 1024);
	for (int i = 0; i < r->g->n; i++)
		order[i] = i;
	assert_int_equal(pool_new(&pool, 2, &err), INFER_OK);
	if (hessian_measure(r->g, pool, 0, order, r->g->n, &got, &err))
		fail_msg("%s", err.message);
	assert_int_equal(got, r->g->n);
	pool_free(pool);
}

static void test_hessians(void **state)
{
	static const char *const names[] = { "llama-gqa", "qwen3moe", "phi3" };
	static struct golden g;
	static char line[4096];

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct run r = { 0 };
		infer_error err;
		char path[256];
		int n = 0;

		snprintf(path, sizeof path, GOLDEN "%s.txt", names[i]);
		FILE *f = fopen(path, "r");
		assert_non_null(f);
		while (fgets(line, sizeof line, f))
			if (!strncmp(line, "case ", 5)) {
				read_case(&g, line);
				if (run_open(&r, &g, 2, 0, &plain, &err))
					fail_msg("%s: %s", g.file, err.message);
				measure_all(&r);
			} else if (!strncmp(line, "hessian ", 8)) {
				check_hessian(&r, line + 8);
				n++;
			}
		fclose(f);
		assert_true(n >= 8);
		run_close(&r);
	}
}

static void small(struct golden *g, const char *file)
{
	snprintf(g->file, sizeof g->file, "%s", file);
	g->window = 16;
	g->n = 48;
	for (int i = 0; i < g->n; i++)
		g->ids[i] = (i * 7 + i / 5) % 30 + 3;
}

static void digest(char hex[65], const char *path)
{
	static char bytes[1 << 20];
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	sha256_name(hex, bytes, fread(bytes, 1, sizeof bytes, f));
	fclose(f);
}

/* For any threads and kernel set, as many passes as there are matrices, and read again. */
static void test_same(void **state)
{
	static const char *const files[] = { "llama-gqa.gguf", "qwen3moe.gguf" };
	static struct golden g;
	char path[] = "/tmp/test_gptq-XXXXXX", hex[2][65];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0 && !close(fd));
	for (size_t f = 0; f < sizeof files / sizeof *files; f++)
		for (int i = 0; i < 3; i++) {
			struct run r = { .isa = i == 1 ? "ref" : NULL };
			infer_error err;

			small(&g, files[f]);
			if (run_open(&r, &g, 1 + i, i ? 1 : 0, &plain, &err) ||
			    run_write(&r, "Q4_0", path, 1 + i, i == 2, &err))
				fail_msg("%s: %s", files[f], err.message);
			/* of inputs with whole blocks, once more to read again */
			assert_int_equal(r.g->passes, !i ? 1 : (f ? 2 : r.g->n) * (i == 2 ? 2 : 1));
			digest(hex[!!i], path);
			if (i)
				assert_string_equal(hex[0], hex[1]);
			run_close(&r);
		}
	unlink(path);
}

static void test_refused(void **state)
{
	static const char *const above[] = { "Q6_K", "Q8_0", "F16" };
	static const struct infer_solver never = { "never", refuse, invert };
	char path[] = "/tmp/test_gptq-XXXXXX";
	static struct golden g;
	struct run r = { 0 };
	infer_error err;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0 && !close(fd));
	small(&g, "llama-gqa.gguf");
	assert_int_equal(run_open(&r, &g, 1, 0, &never, &err), INFER_OK);
	for (size_t i = 0; i < sizeof above / sizeof *above; i++) {
		assert_int_equal(run_write(&r, above[i], path, 1, 0, &err), INFER_EINVAL);
		assert_non_null(strstr(err.message, "up to 5 bits, not to"));
		assert_non_null(strstr(err.message, above[i]));
	}
	assert_int_equal(run_write(&r, "Q4_0", path, 1, 0, &err), INFER_ENAN);
	assert_non_null(strstr(err.message, "cannot be inverted"));
	run_close(&r);
	g.n = 15;
	assert_int_equal(run_open(&r, &g, 1, 0, &plain, &err), INFER_EINVAL);
	assert_string_equal(err.message, "the text has 15 tokens; a window has 16");
	run_close(&r);
	unlink(path);
}

static int case_all(void)
{
	char path[] = "/tmp/test_gptq-XXXXXX";
	static struct golden g;
	struct run r = { 0 };
	int rc, fd = mkstemp(path);

	assert_true(fd >= 0 && !close(fd));
	small(&g, "llama-gqa.gguf");
	g.n = 16;
	nth_ok(run_open(&r, &g, 1, 0, &plain, NULL));
	nth_ok(run_write(&r, "Q4_0", path, 1, 0, NULL));
out:
	run_close(&r);
	unlink(path);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),    cmocka_unit_test(test_types),
		cmocka_unit_test(test_hessians), cmocka_unit_test(test_same),
		cmocka_unit_test(test_refused),  nth_case(case_all)
	};

	return nth_group(tests);
}
