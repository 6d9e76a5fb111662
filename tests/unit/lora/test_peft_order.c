/* tests/unit/lora/test_peft_order.c - an adapter of PEFT changes the rows and columns of the model's file that
 * hold those of the checkpoint.
 *
 * In each model of tests/golden/logits that has a config, an adapter changes each matrix by its name in the
 * checkpoint.  The changes of the file's tensors are reordered into those of the checkpoint by
 * tests/golden/hf/names.txt, which transformers and the public converter define, and must equal B A. */
#include "../hf/names.h"
#include "peft_dir.h"

#include <math.h>

#include <infer/lora.h>
#include "base/err.h"

enum { RANK = 3, MOST = 2 * MAX_TENSORS };
static struct peft_made made[MOST];
static int n_made;

/* How tensor i of the checkpoint was changed. */
static enum { NOT, LINEAR, TABLE, PARAMETER, TURNED } kind[MAX_TENSORS];
static char seen_name[MAX_TENSORS][128];
static int64_t seen_shape[MAX_TENSORS][3];
static int n_seen;

static void add_half(const char *module, const char *suffix, int64_t rows, int64_t cols)
{
	struct peft_made *t = &made[n_made];

	assert_true(n_made < MOST);
	*t = (struct peft_made){ .shape = { rows, cols },
		                 .seed = (uint32_t)n_made + 11,
		                 .dtype = n_made % 3 == 0   ? "BF16"
		                          : n_made % 3 == 1 ? "F32"
		                                            : "F16" };
	snprintf(t->name, sizeof t->name, "base_model.model.%s%s", module, suffix);
	n_made++;
}

static int ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && !strcmp(s + n - k, end);
}

/* Add the pair of tensor i of the checkpoint, if a product or a table has it. */
static void add_one(int i, const struct infer_model *m)
{
	const struct tensor *t = &tensors[i];
	char module[128];

	snprintf(seen_name[i], sizeof seen_name[i], "%s", t->name);
	memcpy(seen_shape[i], t->shape, sizeof seen_shape[i]);
	kind[i] = NOT;
	snprintf(module, sizeof module, "%s", t->name);
	if (t->n_dims == 3 && strstr(t->name, "experts.") && !ends_in(t->name, ".weight") &&
	    !strstr(t->name, "bias")) {
		int64_t n = t->shape[0];
		int turned = !strcmp(m->arch->gguf, "gpt-oss") || !strcmp(m->arch->gguf, "llama4"),
		    down = ends_in(t->name, ".down_proj");
		*strrchr(module, '.') = 0;
		if (!down) /* the second parameter that is wrapped is outside */
			strcat(module, ".base_layer");
		add_half(module, ".lora_A.weight", RANK * n, t->shape[turned ? 1 : 2]);
		add_half(module, ".lora_B.weight", t->shape[turned ? 2 : 1], RANK * n);
		kind[i] = turned ? TURNED : PARAMETER;
		return;
	}
	if (t->n_dims != 2 || !ends_in(t->name, ".weight") || strstr(t->name, "conv") ||
	    strstr(t->name, "norm"))
		return;
	*strrchr(module, '.') = 0;
	if (strstr(t->name, "embed_tokens")) {
		add_half(module, ".lora_embedding_A", RANK, t->shape[0]);
		add_half(module, ".lora_embedding_B", t->shape[1], RANK);
		kind[i] = TABLE;
		return;
	}
	add_half(module, ".lora_A.weight", RANK, t->shape[1]);
	add_half(module, ".lora_B.weight", t->shape[0], RANK);
	kind[i] = LINEAR;
}

/* Element (e, row, col) of the change of tensor i, whose A is made[a]. */
static double want_at(int i, int a, int64_t e, int64_t row, int64_t col)
{
	const struct peft_made *x = &made[a], *y = &made[a + 1];
	int64_t n = seen_shape[i][0], wide = x->shape[1], rn = y->shape[1];
	double sum = 0;

	for (int64_t r = 0; r < RANK; r++)
		switch (kind[i]) {
		case LINEAR:
			sum += (double)made_value(y->seed, row * RANK + r) *
			       (double)made_value(x->seed, r * wide + col);
			break;
		case TABLE:
			sum += (double)made_value(x->seed, r * wide + row) *
			       (double)made_value(y->seed, col * RANK + r);
			break;
		case PARAMETER: /* B [out][rank][E], A [E][rank][in] */
			sum += (double)made_value(y->seed, row * rn + r * n + e) *
			       (double)made_value(x->seed, (e * RANK + r) * wide + col);
			break;
		case TURNED: /* rows are inputs */
			sum += (double)made_value(y->seed, col * rn + r * n + e) *
			       (double)made_value(x->seed, (e * RANK + r) * wide + row);
			break;
		case NOT:
			break;
		}
	return 2 * sum; /* alpha 6, rank 3 */
}

struct zero {
	const infer_lora *l;
	const struct infer_tensor *t;
};

/* Rows of what is added to a tensor. */
static int zero_rows(void *user, int64_t row, int64_t n, void *dst, infer_error *err)
{
	const struct zero *z = user;
	int64_t all = z->t->ne[1];

	memset(dst, 0, (size_t)(n * z->t->ne[0]) * sizeof(float));
	for (int64_t i = 0; i < n; i++)
		TRY(infer_lora_merge(z->l, 1, z->t, (int32_t)((row + i) / all), (row + i) % all, 1,
		                     (float *)dst + i * z->t->ne[0], err));
	return INFER_OK;
}

/* Write what is added to each tensor, as a file of the same tensors. */
static void write_added(const infer_model *m, const infer_lora *l)
{
	static struct zero z[MAX_TENSORS];
	struct gguf_write *w;
	const struct infer_tensor *t;
	infer_error e;

	assert_int_equal(gguf_write_new(&w, adapter_path, &e), 0);
	for (uint64_t i = 0; (t = infer_file_tensor_at(m->file, i)); i++) {
		char name[128];
		snprintf(name, sizeof name, "%.*s", (int)t->name.len, t->name.at);
		z[i] = (struct zero){ l, t };
		assert_int_equal(gguf_write_tensor(w, name, INFER_F32, t->n_dims, t->ne, zero_rows,
		                                   &z[i], &e),
		                 0);
	}
	if (gguf_write_end(w, &e))
		fail_msg("%s", e.message);
	gguf_write_free(w);
}

static void compare(const char *of)
{
	int n = 0;

	assert_int_equal(n_tensors, n_seen);
	for (int i = 0, a = 0; i < n_seen; a += kind[i] != NOT ? 2 : 0, i++) {
		const struct tensor *t = &tensors[i];
		int64_t cols = t->shape[t->n_dims - 1],
			rows = t->n_dims > 1 ? t->shape[t->n_dims - 2] : 1,
			mats = t->n_dims > 2 ? t->shape[0] : 1;
		assert_string_equal(t->name, seen_name[i]);
		if (kind[i] == NOT)
			continue;
		n++;
		for (int64_t k = 0; k < mats * rows * cols; k++) {
			double want = want_at(i, a, k / (rows * cols), k / cols % rows, k % cols);
			if (fabs((double)t->at[k] - want) > 1e-4)
				fail_msg("%s: %s: element %d is %g, not %g", of, t->name, (int)k,
				         (double)t->at[k], want);
		}
	}
	printf("# %s: %d of %d tensors\n", of, n, n_seen);
	assert_true(n >= 9);
}

static void read_class(const char *name, char cls[64])
{
	static char config[1 << 14];
	char path[128];

	snprintf(path, sizeof path, "tests/golden/hf/config/%s.json", name);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	config[fread(config, 1, sizeof config - 1, f)] = 0;
	fclose(f);
	char *at = strstr(config, "\"architectures\"");
	assert_non_null(at);
	at = strchr(strchr(at, '['), '"') + 1;
	snprintf(cls, 64, "%.*s", (int)strcspn(at, "\""), at);
}

static void test_model(void **state)
{
	const char *name = *state;
	char path[128], cls[64];
	struct infer_model *m;
	infer_error e;
	infer_lora *l;
	infer_file *added;

	snprintf(path, sizeof path, "tests/golden/logits/%s.gguf", name);
	if (infer_model_open(&m, path, NULL, &e))
		fail_msg("%s", e.message);
	const struct sizes z = { .head = m->h.dk,
		                 .nk = m->h.state_k_heads,
		                 .nv = m->h.state_heads,
		                 .dk = m->h.state_dk,
		                 .dv = m->h.state_dv };
	read_class(name, cls);
	drop_tensors();
	put_all(m->file, cls, m->h.n_layers, &z);
	n_made = 0;
	n_seen = n_tensors;
	for (int i = 0; i < n_tensors; i++)
		add_one(i, m);
	write_peft_tensors(made, n_made);
	write_peft_config("{\"peft_type\":\"LORA\",\"r\":3,\"lora_alpha\":6,\"target_parameters\":"
	                  "[\"experts.gate_up_proj\",\"experts.down_proj\"]}");
	if (infer_lora_open(&l, m, peft_dir, NULL, NULL, &e))
		fail_msg("%s: %s", name, e.message);
	write_added(m, l);
	drop_tensors();
	assert_int_equal(infer_file_open(&added, adapter_path, &e), 0);
	put_all(added, cls, m->h.n_layers, &z);
	compare(name);
	infer_file_close(&added);
	drop_tensors();
	infer_lora_close(&l);
	infer_model_close(&m);
}

static int make_all(void **state)
{
	return read_lines(state) || make_folder(state) || make_peft_dir(state) ? -1 : 0;
}

static int drop_all(void **state) { return drop_folder(state) || drop_peft_dir(state) ? -1 : 0; }

#define MODEL(name) \
	{ \
		name, test_model, NULL, NULL, (void *)(uintptr_t)name \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MODEL("llama3-hub"),
		MODEL("phi3-hub"),
		MODEL("deepseek2-hub"),
		MODEL("deepseek2-lite-hub"),
		MODEL("gpt-oss-hub"),
		MODEL("granitehybrid-hub"),
		MODEL("granitehybrid-dense-hub"),
		MODEL("lfm2moe-hub"),
		MODEL("qwen3next-hub"),
		MODEL("qwen35moe-hub"),
		MODEL("qwen35-hub"),
		MODEL("gemma3n-hub"),
		MODEL("gemma3-hub"),
		MODEL("gemma4-moe-hub"),
		MODEL("llama4-hub"),
		MODEL("qwen2moe-hub"),
		MODEL("glm4moe-hub"),
		MODEL("granitemoe-hub"),
	};

	return cmocka_run_group_tests(tests, make_all, drop_all);
}
