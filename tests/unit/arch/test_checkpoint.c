/* tests/unit/arch/test_checkpoint.c - the other naming: the models of tests/golden/logits with the names, rows and
 * parameters of Hugging Face checkpoints give the logits that transformers gives.
 *
 * The tensors of NAME.gguf are put back into what they were made from (rows of heads by halves, norms without their 1, a
 * tensor for each expert), under the names of the HF column; config.json is tests/golden/hf/config/NAME.json. */
#include "../nth.h"
#include "../floor.h"
#include "../golden_logits.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/jread.h"
#include "file/gguf_write.h"
#include "graph/graph.h"

static char path[] = "/tmp/infer-test-checkpoint-XXXXXX", text[1 << 14];

/* --- a tensor, put back */

struct back {
	const struct infer_tensor *t;
	const float *from; /* its data, or an expert's part of it */
	enum arch_transform how;
	int64_t head;
	const struct infer_tensor
		*behind; /* whose rows stand behind those of each matrix, or NULL */
	int turned;      /* and those of t are its columns */
};

/* Row r of the matrices of two tensors, those of the second behind those of the first. */
static const float *joined(const struct back *b, int64_t r)
{
	int64_t n = b->t->ne[1], each = n + b->behind->ne[1], e = r / each, i = r % each;

	return i < n ? (const float *)b->t->data + (e * n + i) * b->t->ne[0]
	             : (const float *)b->behind->data +
	                       (e * b->behind->ne[1] + i - n) * b->t->ne[0];
}

/* The same where the first is turned. */
static void joined_turned(const struct back *b, int64_t r, float *to)
{
	const float *k = b->t->data, *v = b->behind->data;
	int64_t n = b->t->ne[0], cols = b->t->ne[1], more = b->behind->ne[1], e = r / (n + more),
		i = r % (n + more);

	for (int64_t c = 0; c < cols; c++)
		to[c] = i < n ? k[(e * cols + c) * n + i] : v[(e * more + i - n) * cols + c];
}

static int rows(void *user, int64_t row, int64_t n, void *dst, infer_error *err)
{
	const struct back *b = user;
	int64_t cols = b->t->n_dims == 1 ? 1 : b->t->ne[0], d = b->head;
	float *to = dst;

	(void)err;
	for (int64_t r = row; b->turned && r < row + n; r++)
		joined_turned(b, r, to + (r - row) * b->t->ne[1]);
	for (int64_t r = row; b->behind && !b->turned && r < row + n; r++)
		memcpy(to + (r - row) * cols, joined(b, r), (size_t)cols * sizeof *to);
	if (b->behind)
		return INFER_OK;
	if (b->t->n_dims == 1) { /* one row of elements, each a row of one here */
		n = b->t->ne[0];
		row = 0;
	}
	for (int64_t r = row; r < row + n; r++) {
		int64_t i = r % d, from = r;
		if (b->how == T_PAIRS) /* row i d/2 + m is row 2m + i of the GGUF tensor */
			from = r / d * d + i % (d / 2) * 2 + i / (d / 2);
		for (int64_t c = 0; c < cols; c++)
			to[(r - row) * cols + c] =
				b->from[from * cols + c] - (b->how == T_PLUS1 ? 1.0f : 0.0f);
	}
	return INFER_OK;
}

static const struct arch_tensor *row_of(const struct arch *a, const char *gguf, int layered)
{
	for (int slot = layered ? W_GLOBALS : 1; slot < (layered ? W_SLOTS : W_GLOBALS); slot++) {
		const struct arch_tensor *t = arch_row(a, slot);
		if (t && !strcmp(t->gguf, gguf))
			return t;
	}
	return NULL;
}

enum { MAX_TENSORS = 256 };
static struct back backs[MAX_TENSORS];
static int n_backs;

static int put(struct gguf_write *w, const struct infer_tensor *t, const char *name, int64_t part,
               enum arch_transform how, int64_t head, infer_error *err)
{
	struct back *b = &backs[n_backs++];

	assert_true(n_backs <= MAX_TENSORS);
	*b = (struct back){ t, (const float *)t->data + part * t->ne[0] * t->ne[1], how, head };
	return gguf_write_tensor(w, name, INFER_F32, how == T_STACK ? 2 : t->n_dims, t->ne, rows, b,
	                         err);
}

/* Two tensors here that are one there. */
static int put_joined(struct gguf_write *w, const struct infer_tensor *t,
                      const struct infer_tensor *behind, const char *name, infer_error *err)
{
	struct back *b = &backs[n_backs++];
	int64_t ne[4] = { t->ne[0], t->ne[1] + behind->ne[1], t->ne[2], 1 };

	assert_true(n_backs <= MAX_TENSORS);
	*b = (struct back){ .t = t, .behind = behind };
	return gguf_write_tensor(w, name, INFER_F32, t->n_dims, ne, rows, b, err);
}

/* Keys and values of latents. */
static int put_latent(struct gguf_write *w, const struct infer_tensor *k,
                      const struct infer_tensor *v, const char *name, infer_error *err)
{
	struct back *b = &backs[n_backs++];
	int64_t ne[4] = { k->ne[1], (k->ne[0] + v->ne[1]) * k->ne[2], 1, 1 };

	assert_true(n_backs <= MAX_TENSORS);
	*b = (struct back){ .t = k, .behind = v, .turned = 1 };
	return gguf_write_tensor(w, name, INFER_F32, 2, ne, rows, b, err);
}

/* The slot of up whose rows stand behind those of gate in a checkpoint's tensor; -1: it has its own. */
static int joins(const struct arch *a, const struct arch_tensor *gate)
{
	static const int pairs[][2] = { { W_GATE, W_UP },
		                        { W_GATE_EXPS, W_UP_EXPS },
		                        { W_GATE_SHARED, W_UP_SHARED } };

	for (int i = 0; i < 3; i++) {
		const struct arch_tensor *up = arch_row(a, pairs[i][1]);
		if (up && !strcmp(up->gguf, arch_row(a, pairs[i][0])->gguf))
			continue; /* one here too */
		if (gate->slot == pairs[i][0] && up && !strcmp(gate->hf[0], up->hf[0]))
			return pairs[i][1];
		if (gate->slot == pairs[i][1] &&
		    !strcmp(gate->hf[0], arch_row(a, pairs[i][0])->hf[0]))
			return W_END;
	}
	return -1;
}

/* Leaves out what config.json stands for. */
static int put_back(struct gguf_write *w, const infer_file *f, const struct arch *a,
                    const struct infer_tensor *t, int64_t head, infer_error *err)
{
	char gguf[80], name[160];
	int layer = -1, used = 0, n = 0;

	snprintf(gguf, sizeof gguf, "%.*s", (int)t->name.len, t->name.at);
	sscanf(gguf, "blk.%d.%n", &layer, &used);
	const struct arch_tensor *row = row_of(a, gguf + used, layer >= 0);
	assert_non_null(row);
	assert_int_equal(t->type, INFER_F32);
	if (row->slot == W_K_B) {
		snprintf(gguf, sizeof gguf, "blk.%d.%s", layer, arch_row(a, W_V_B)->gguf);
		snprintf(name, sizeof name, "model.layers.%d.%s", layer,
		         arch_row(a, W_KV_B)->hf[0]);
		return put_latent(w, t, infer_file_tensor(f, gguf), name, err);
	}
	if (!row->hf[0] || row->how == T_ODD ||
	    row->how == T_BY_HEAD_Z) /* T_EVEN, T_BY_HEAD have the name */
		return INFER_OK;
	if (layer >= 0)
		n = snprintf(name, sizeof name, "model.layers.%d.", layer);
	int up = joins(a, row);
	if (up == W_END) /* done with the other */
		return INFER_OK;
	if (up > 0) {
		snprintf(gguf, sizeof gguf, "blk.%d.%s", layer, arch_row(a, up)->gguf);
		snprintf(name + n, sizeof name - (size_t)n, "%s", row->hf[0]);
		return put_joined(w, t, infer_file_tensor(f, gguf), name, err);
	}
	if (row->how != T_STACK) {
		snprintf(name + n, sizeof name - (size_t)n, "%s", row->hf[0]);
		return put(w, t, name, 0, arch_transform_of(a, row), head, err);
	}
	const char *at = strstr(row->hf[0], "%d");
	for (int e = 0; e < t->ne[2]; e++) {
		snprintf(name + n, sizeof name - (size_t)n, "%.*s%d%s", (int)(at - row->hf[0]),
		         row->hf[0], e, at + 2);
		TRY(put(w, t, name, e, T_STACK, head, err));
	}
	return INFER_OK;
}

/* The checkpoint's tensors in the file `path`. */
static int write_back(const infer_file *f, const struct arch *a, int64_t head, infer_error *err)
{
	const struct infer_tensor *t;
	struct gguf_write *w;
	int rc;

	n_backs = 0;
	TRY(gguf_write_new(&w, path, err));
	rc = INFER_OK;
	for (uint64_t i = 0; !rc && (t = infer_file_tensor_at(f, i)); i++)
		rc = put_back(w, f, a, t, head, err);
	if (!rc)
		rc = gguf_write_end(w, err);
	gguf_write_free(w);
	return rc;
}

/* --- opening it */

static const struct json *config_of(struct arena *a, const char *name, infer_error *err)
{
	const struct json *v = NULL;
	char file[256];
	FILE *f;

	snprintf(file, sizeof file, "tests/golden/hf/config/%s.json", name);
	f = fopen(file, "rb");
	if (!f)
		return NULL;
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	fclose(f);
	jread(&v, a, text, strlen(text), "config.json", err);
	return v;
}

static int open_back(infer_model **out, const struct json *config, const struct arch *a, int ctx,
                     infer_error *err)
{
	infer_model *m = *out = mem_zalloc(MEM_ARCH, 1, sizeof *m);

	if (!m)
		return INFER_ENOMEM;
	arena_init(&m->arena, MEM_ARCH);
	graph_init(&m->graph);
	m->arch = a;
	m->naming = ARCH_HF;
	TRY(infer_file_open(&m->own, path, err));
	m->file = m->own;
	const struct arch_keys keys = arch_keys_hf(config, a);
	return arch_fill(m, &keys, ctx, err);
}

static double worst(const struct golden *g, const float *y, const float *want)
{
	double most = 0, size = 1;

	for (size_t i = 0; i < (size_t)g->n * (size_t)g->n_vocab; i++) {
		double d = fabs((double)y[i] - (double)want[i]);
		if (!(d <= most))
			most = isnan(d) ? INFINITY : d;
		size = fmax(size, fabs((double)want[i]));
	}
	return most / (GOLDEN_TOLERANCE * size);
}

static void run(const struct golden *g, const infer_model *m)
{
	float *want = expected(g), *y = calloc((size_t)g->n * (size_t)g->n_vocab, sizeof *y);
	struct floor f = { 0 };
	infer_error err = { 0 };

	assert_non_null(y);
	assert_int_equal(floor_open(&f, m, NULL, 2, g->n, &err), INFER_OK);
	assert_int_equal(floor_run(&f, g->ids, 0, g->n, y, &err), INFER_OK);
	floor_close(&f);
	print_message("# %s: %.3g of the bound\n", g->name, worst(g, y, want));
	if (!(worst(g, y, want) <= 1))
		fail_msg("%s: %.4g times the bound", g->name, worst(g, y, want));
	free(want);
	free(y);
}

/* The case's file, put back and open; NULL in *out where it has no config.json. */
static int open_case(infer_model **out, const struct golden *g, struct arena *a, infer_error *err)
{
	const struct json *config, *cls;
	const struct arch *arch;
	uint64_t embd = 0, heads = 1, head = 0;
	char file[256], stem[NAME];
	infer_file *f;
	int rc;

	*out = NULL;
	snprintf(stem, sizeof stem, "%.*s", (int)(strlen(g->file) - 5), g->file);
	config = config_of(a, stem, err);
	if (!config)
		return a->bad ? INFER_ENOMEM : INFER_OK;
	cls = json_at(json_get(config, "architectures"), 0);
	arch = arch_find_hf((struct infer_str){ json_str(cls), json_bytes(cls) });
	assert_non_null(arch);
	snprintf(file, sizeof file, GOLDEN_LOGITS "%s", g->file);
	TRY(infer_file_open(&f, file, err));
	snprintf(file, sizeof file, "%s.attention.key_length", arch->gguf);
	infer_meta_u64(f, file, &head, NULL, NULL);
	snprintf(file, sizeof file, "%s.embedding_length", arch->gguf);
	infer_meta_u64(f, file, &embd, NULL, NULL);
	snprintf(file, sizeof file, "%s.attention.head_count", arch->gguf);
	infer_meta_u64(f, file, &heads, NULL, NULL);
	rc = write_back(f, arch, (int64_t)(head ? head : embd / heads), err);
	infer_file_close(&f);
	return rc ? rc : open_back(out, config, arch, g->ctx, err);
}

static void test_case(void **state)
{
	const struct golden *g = *state;
	infer_error err = { 0 };
	infer_model *m;
	struct arena a;

	arena_init(&a, MEM_ARCH);
	int rc = open_case(&m, g, &a, &err);
	/* what config.json holds the divisors for has to be told before it can be opened */
	const char *lacks =
		strstr(g->name, "gpt-oss") || !strncmp(g->name, "qwen3next", 9) ||
				!strncmp(g->name, "qwen35", 6) || !strncmp(g->name, "llama4", 6) ||
				!strncmp(g->name, "granitehybrid", 13)
			? "a change of its values that is not supported"
		: strstr(g->name, "llama3")      ? "rope_type llama3"
		: !strncmp(g->name, "gemma4", 6) ? "or proportional"
		: strstr(g->name, "longrope") || !strcmp(g->name, "phi3") ||
				!strcmp(g->name, "phi3-short") || !strncmp(g->name, "phi3-hub", 8)
			? "rope_factors"
			: NULL;
	if (lacks) {
		assert_int_equal(rc, strstr(lacks, "a change") ? INFER_EUNSUP : INFER_EFORMAT);
		if (!strstr(err.message, lacks))
			fail_msg("%s: %s", g->name, err.message);
	} else if (rc) {
		fail_msg("%s: %s", g->name, err.message);
	} else {
		assert_non_null(m);
		run(g, m);
	}
	infer_model_close(&m);
	arena_fini(&a);
}

/* Experts that are missing, there twice, of another type. */
static int case_memory(void)
{
	const struct golden *g = NULL;
	infer_error err = { 0 };
	infer_model *m = NULL;
	struct arena a;
	int rc;

	for (int i = 0; i < n_cases; i++)
		if (!strcmp(cases[i].name, "mixtral"))
			g = &cases[i];
	assert_non_null(g);
	arena_init(&a, MEM_ARCH);
	nth_ok(open_case(&m, g, &a, &err));
out:
	infer_model_close(&m);
	arena_fini(&a);
	return rc;
}

int main(void)
{
	static struct CMUnitTest tests[MAX_CASES + 1];
	static struct nth memory = { case_memory };
	char config[256];
	int n = 0, fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	golden_read();
	for (int i = 0; i < n_cases; i++) {
		struct golden *g = &cases[i];

		snprintf(config, sizeof config, "tests/golden/hf/config/%.*s.json",
		         (int)(strlen(g->file) - 5), g->file);
		if (!g->edits.n && !access(config, R_OK))
			tests[n++] = (struct CMUnitTest){ g->name, test_case, NULL, NULL, g };
	}
	tests[n++] = (struct CMUnitTest){ "memory", nth_run, NULL, NULL, &memory };
	int failed =
		n > 20 ? _cmocka_run_group_tests("checkpoint", tests, (size_t)n, NULL, NULL) : 1;
	unlink(path);
	return failed;
}
