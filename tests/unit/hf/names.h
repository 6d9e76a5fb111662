/* tests/unit/hf/names.h - tests/golden/hf/names.txt: which tensor of a checkpoint is which of a file, and
 * how it changes (scripts/golden-hf.py).  A file's tensors put back by it. */
#ifndef TESTS_HF_NAMES_H
#define TESTS_HF_NAMES_H
#include "back.h"

enum { MAX_LINES = 2048 };
struct line {
	const char *arch, *cls, *hf, *gguf, *how;
};
static struct line lines[MAX_LINES];
static int n_lines;
static char text[1 << 18];

static int read_lines(void **state)
{
	FILE *f = fopen("tests/golden/hf/names.txt", "rb");
	char *at = text;

	(void)state;
	if (!f)
		return -1;
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	fclose(f);
	for (char *s = strsep(&at, "\n"); s && n_lines < MAX_LINES; s = strsep(&at, "\n")) {
		struct line *l = &lines[n_lines];
		if (!*s || *s == '#')
			continue;
		l->arch = strsep(&s, "\t");
		l->cls = strsep(&s, "\t");
		l->hf = strsep(&s, "\t");
		l->gguf = strsep(&s, "\t");
		l->how = s;
		n_lines++;
	}
	return n_lines > 1000 && n_lines < MAX_LINES ? 0 : -1;
}

/* The last part of a name that is a number. */
static int last_number(const char *name)
{
	int n = 0;

	for (const char *at = name; (at = strchr(at, '.')); at++)
		if (at[1] >= '0' && at[1] <= '9')
			n = atoi(at + 1);
	return n;
}

/* The name of a line of layer 0 or 1, in another layer. */
static void in_layer(char out[128], const char *name, int layer)
{
	const char *at = strstr(name, "blk."), *layers = strstr(name, "layer");
	const char *digits = at ? at + 4 : layers ? strchr(layers, '.') + 1 : NULL;

	if (!digits || layer < 0)
		snprintf(out, 128, "%s", name);
	else
		snprintf(out, 128, "%.*s%d%s", (int)(digits - name), name, layer,
		         digits + strspn(digits, "0123456789"));
}

/* The tensor that line i begins, in a layer; -1: of none. */
static void put_line(const infer_file *f, int i, int layer, const struct sizes *z)
{
	const struct infer_tensor *part[MAX_PARTS];
	const char *how[MAX_PARTS], *hf = lines[i].hf;
	char name[128], gguf[128];
	int n = 0;

	in_layer(name, hf, layer);
	for (int k = 0; k < n_tensors; k++)
		if (!strcmp(tensors[k].name, name))
			return;
	if (strstr(hf, "kv_b_proj")) {
		char other[128];
		snprintf(gguf, sizeof gguf, "blk.%d.attn_k_b.weight", layer);
		snprintf(other, sizeof other, "blk.%d.attn_v_b.weight", layer);
		if (find(f, gguf))
			put_latent(name, find(f, gguf), find(f, other));
		return;
	}
	for (int k = i; k < n_lines; k++) {
		if (strcmp(lines[k].cls, lines[i].cls) || strcmp(lines[k].hf, hf))
			continue;
		in_layer(gguf, lines[k].gguf, layer);
		assert_true(n < MAX_PARTS);
		how[n] = lines[k].how;
		part[n] = find(f, gguf);
		n += part[n] != NULL;
	}
	if (!n)
		return;
	if (!strcmp(how[0], "T_STACK") && !last_number(hf))
		put_experts(name, part[0]);
	else if (!strcmp(how[0], "T_EVEN") || !strcmp(how[0], "T_TURN"))
		put_turned(name, part, how, n);
	else if (strcmp(how[0], "T_STACK") != 0)
		put_joined(name, part, how, n, z);
}

/* Every tensor of a class that the file has. */
static void put_all(const infer_file *f, const char *cls, int n_layers, const struct sizes *z)
{
	for (int i = 0; i < n_lines; i++) {
		if (strcmp(lines[i].cls, cls) || !strcmp(lines[i].hf, "-"))
			continue;
		if (!strstr(lines[i].gguf, "blk."))
			put_line(f, i, -1, z);
		for (int layer = 0; layer < n_layers && strstr(lines[i].gguf, "blk."); layer++)
			put_line(f, i, layer, z);
	}
}
#endif
