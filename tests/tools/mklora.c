/* tests/tools/mklora.c - write a random LoRA adapter for a model, in GGUF.
 *
 *	mklora [-r RANK] [-a ALPHA] [-s SEED] [-n NAME] [-t TARGETS] MODEL OUT.gguf
 *
 * MODEL is a GGUF file, or demo.  TARGETS are parts of names, separated by commas: attn_q,attn_v.  The
 * values of A have the spread n_in^-1/2, those of B the spread rank^-1/2 / 4. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infer/model.h>
#include "base/err.h"
#include "file/gguf_write.h"

struct ask {
	int64_t rank;
	float alpha;
	uint64_t seed;
	const char *name, *targets;
};
/* One half of a pair. */
struct half {
	uint64_t seed;
	int64_t width;
	float spread;
};

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "mklora: %s\n", why);
	exit(1);
}

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static int make_rows(void *user, int64_t row, int64_t n, void *dst, infer_error *err)
{
	const struct half *h = user;
	float *to = dst;

	(void)err;
	for (int64_t i = 0; i < n * h->width; i++) {
		double u = (double)(mix(h->seed + (uint64_t)(row * h->width + i)) >> 11) * 0x1p-53;

		to[i] = (float)((2 * u - 1) * sqrt(3)) * h->spread;
	}
	return INFER_OK;
}

/* True if a part of TARGETS occurs in the name. */
static int is_target(const char *name, const char *targets)
{
	char part[64];

	while (*targets) {
		size_t n = strcspn(targets, ",");

		snprintf(part, sizeof part, ".%.*s.weight", (int)n, targets);
		if (strstr(name, part))
			return 1;
		targets += n + (targets[n] == ',');
	}
	return 0;
}

static void add_half(struct gguf_write *w, const char *tensor, char which, struct half *h,
                     int64_t rows)
{
	const int64_t ne[2] = { h->width, rows };
	infer_error err;
	char name[128];

	snprintf(name, sizeof name, "%s.lora_%c", tensor, which);
	if (gguf_write_tensor(w, name, INFER_F32, 2, ne, make_rows, h, &err))
		die(err.message);
}

static void add_pairs(struct gguf_write *w, const infer_file *f, const struct ask *a,
                      struct half *halves)
{
	const struct infer_tensor *t;
	uint64_t made = 0;

	for (uint64_t i = 0; (t = infer_file_tensor_at(f, i)); i++) {
		char name[96];

		snprintf(name, sizeof name, "%.*s", (int)t->name.len, t->name.at);
		if (t->n_dims != 2 || !is_target(name, a->targets))
			continue;
		halves[0] = (struct half){ mix(a->seed * 1000003 + 2 * i), t->ne[0],
			                   1 / sqrtf((float)t->ne[0]) };
		halves[1] = (struct half){ mix(a->seed * 1000003 + 2 * i + 1), a->rank,
			                   1 / sqrtf((float)a->rank) / 4 };
		add_half(w, name, 'a', &halves[0], a->rank);
		add_half(w, name, 'b', &halves[1], t->ne[1]);
		halves += 2;
		made++;
	}
	if (!made)
		die("the model has no such tensor");
}

static void write_lora(const infer_file *f, const struct ask *a, const char *out)
{
	const struct infer_meta *arch = infer_file_meta(f, "general.architecture");
	struct infer_file_info info;
	struct gguf_write *w;
	infer_error err;

	infer_file_info(f, &info);
	struct half *halves = calloc((size_t)info.n_tensors * 2 + 2, sizeof *halves);

	if (!halves || !arch)
		die("no memory, or no architecture");
	if (gguf_write_new(&w, out, &err))
		die(err.message);
	gguf_write_str(w, "general.type", "adapter", 7);
	gguf_write_copy(w, arch);
	if (a->name)
		gguf_write_str(w, "general.name", a->name, strlen(a->name));
	gguf_write_str(w, "adapter.type", "lora", 4);
	gguf_write_f32(w, "adapter.lora.alpha", a->alpha);
	add_pairs(w, f, a, halves);
	if (gguf_write_end(w, &err))
		die(err.message);
	gguf_write_free(w);
	free(halves);
}

int main(int argc, char **argv)
{
	struct ask a = { 4, 0, 1, NULL, "attn_q,attn_v" };
	infer_model *m;
	infer_error err;
	int c;

	while ((c = getopt(argc, argv, "r:a:s:n:t:")) > 0) {
		if (c == 'r')
			a.rank = strtol(optarg, NULL, 10);
		else if (c == 'a')
			a.alpha = strtof(optarg, NULL);
		else if (c == 's')
			a.seed = strtoull(optarg, NULL, 10);
		else if (c == 'n')
			a.name = optarg;
		else if (c == 't')
			a.targets = optarg;
		else
			return 2;
	}
	if (argc - optind != 2 || a.rank < 1)
		die("mklora [-r RANK] [-a ALPHA] [-s SEED] [-n NAME] [-t TARGETS] MODEL OUT");
	if (!(a.alpha > 0))
		a.alpha = (float)a.rank;
	if (infer_model_open(&m, argv[optind], NULL, &err))
		die(err.message);
	write_lora(infer_model_file(m), &a, argv[optind + 1]);
	infer_model_close(&m);
	return 0;
}
