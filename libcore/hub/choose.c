/* hub/choose.c - choose the files of a repository that make a model.
 *
 * GGUF files are distinguished by the quantisation in their name, as llama.cpp names them:
 * model-Q4_K_M.gguf, model.i1-IQ3_XS.gguf, model-UD-Q4_K_XL-00001-of-00003.gguf,
 * Q8_0/model.gguf. */
#include "hub/choose.h"
#include "hub/choose_inner.h"
#include "base/err.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SPLIT_SUFFIX = sizeof "-00001-of-00003" - 1, LISTED = 8 };
/* True if the files use at most four fifths of the memory; KV cache and buffers need the rest. */
static int fits_memory(uint64_t bytes, uint64_t memory)
{
	return !memory || bytes <= memory / 5 * 4;
}

/* One model: a GGUF file or all parts of a split one. */
struct gguf {
	size_t at, n; /* entries order[at .. at + n); n < parts: parts are missing */
	size_t parts;
	const char *tag; /* quantisation in the file's name */
	size_t tag_n;    /* length of tag; 0: none */
	int is_ud;       /* the tag follows "UD-" */
	int bits;        /* nominal bits per weight; 0: unknown */
	uint64_t bytes;
};

int hub_path_ok(const char *path, size_t n)
{
	if (!n || n > HUB_PATH_MOST || path[0] == '/' || utf8_check(path, n) < n)
		return 0;
	for (size_t i = 0, part = 0, depth = 0; i <= n; i++) {
		unsigned char c = i < n ? (unsigned char)path[i] : '/';

		if (c < ' ' || c == 0x7f || c == '\\')
			return 0;
		/* U+0080 ... U+009F: control characters of some terminals */
		if (c == 0xc2 && i + 1 < n && (unsigned char)path[i + 1] < 0xa0)
			return 0;
		if (c != '/')
			continue;
		size_t k = i - part;

		if (!k || k > 255 || ++depth > HUB_PARTS_MOST || (k == 1 && path[part] == '.') ||
		    (k == 2 && path[part] == '.' && path[part + 1] == '.'))
			return 0;
		part = i + 1;
	}
	return 1;
}

const char *hub_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int hub_ends(const char *s, const char *ending)
{
	size_t n = strlen(s), k = strlen(ending);

	return n >= k && !strcasecmp(s + n - k, ending);
}

void hub_size(char out[16], uint64_t bytes)
{
	double v = (double)bytes;

	if (v >= 1e9)
		snprintf(out, 16, "%.1f GB", v / 1e9);
	else if (v >= 1e6)
		snprintf(out, 16, "%.0f MB", v / 1e6);
	else
		snprintf(out, 16, "%.0f kB", v / 1e3);
}

static int is_mmproj(const char *path)
{
	return hub_ends(path, ".gguf") && strcasestr(hub_base(path), "mmproj") != NULL;
}

static int is_model(const char *path)
{
	return hub_ends(path, ".gguf") && !strcasestr(hub_base(path), "mmproj") &&
	       !strcasestr(hub_base(path), "imatrix");
}

/* ---- names ---- */

/* Return the number of parts in the name of a part of a split file, 0 for a whole file.  *stem:
 * length of the path before the number of the part. */
static size_t parse_split(const char *path, size_t *stem, size_t *part)
{
	size_t n = strlen(path) - (sizeof ".gguf" - 1);
	unsigned i = 0, all = 0;
	int end = 0;

	*stem = n;
	*part = 0;
	if (n <= SPLIT_SUFFIX ||
	    sscanf(path + n - SPLIT_SUFFIX, "-%5u-of-%5u%n", &i, &all, &end) != 2 ||
	    end != SPLIT_SUFFIX || !i || i > all)
		return 0;
	*stem = n - SPLIT_SUFFIX;
	*part = i;
	return all;
}

/* True if s names a quantisation: IQ4_XS, Q8_0, TQ1_0, BF16, MXFP4_MOE.  *bits: bits per weight */
static int parse_tag(const char *s, size_t n, int *bits)
{
	static const struct {
		const char *name;
		int bits;
	} whole[] = { { "F32", 32 },  { "FP32", 32 }, { "F16", 16 },  { "FP16", 16 },
		      { "BF16", 16 }, { "MXFP4", 4 }, { "NVFP4", 4 }, { "F64", 64 } };
	size_t head = 0;

	*bits = 0;
	for (size_t i = 0; i < sizeof whole / sizeof *whole && !head; i++)
		if (n >= strlen(whole[i].name) &&
		    !strncasecmp(s, whole[i].name, strlen(whole[i].name))) {
			head = strlen(whole[i].name);
			*bits = whole[i].bits;
		}
	if (!head) {
		head = n > 2 && strchr("iItT", s[0]) ? 1 : 0;
		if (n < head + 2 || (s[head] != 'q' && s[head] != 'Q') || s[head + 1] < '1' ||
		    s[head + 1] > '8')
			return 0;
		*bits = s[head + 1] - '0';
		head += 2;
	}
	if (head < n && s[head] != '_')
		return 0;
	for (size_t i = head; i < n; i++)
		if (!(s[i] == '_' && i + 1 < n && s[i + 1] != '_') &&
		    !(s[i] >= '0' && s[i] <= '9') && !((s[i] | 32) >= 'a' && (s[i] | 32) <= 'z'))
			return 0;
	return 1;
}

/* Find the last quantisation in a name of n bytes: a component between '-' and '.', or the end of
 * one after '_'. */
static int find_tag(struct gguf *g, const char *s, size_t n)
{
	for (size_t end = n; end;) {
		size_t from = end;

		while (from && s[from - 1] != '-' && s[from - 1] != '.')
			from--;
		for (size_t i = from; i < end; i++) {
			if ((i > from && s[i - 1] != '_') || !parse_tag(s + i, end - i, &g->bits))
				continue;
			g->tag = s + i;
			g->tag_n = end - i;
			g->is_ud = i == from && from >= 3 && !strncasecmp(s + from - 3, "UD-", 3) &&
			           (from == 3 || !strchr("abcdefghijklmnopqrstuvwxyz0123456789",
			                                 s[from - 4] | 32));
			return 1;
		}
		end = from ? from - 1 : 0;
	}
	return 0;
}

static void name_gguf(struct gguf *g, const char *path)
{
	const char *base = hub_base(path);
	size_t stem, part;

	g->parts = parse_split(path, &stem, &part);
	if (!find_tag(g, base, stem - (size_t)(base - path)) && base > path) {
		const char *folder = base - 1;

		while (folder > path && folder[-1] != '/')
			folder--;
		find_tag(g, folder, (size_t)(base - 1 - folder));
	}
}

/* True for types of other programs, and types that llama.cpp dropped. */
static int is_foreign(const struct gguf *g)
{
	static const char *const endings[] = { "_4_4", "_4_8", "_8_8", "_R4", "_R8" };

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t n = strlen(endings[i]);

		if (g->tag_n > n && !strncasecmp(g->tag + g->tag_n - n, endings[i], n))
			return 1;
	}
	return g->tag_n >= 5 && (g->tag[0] | 32) == 'i' && !strncasecmp(g->tag + 3, "_K", 2);
}

/* ---- models among the files ---- */

struct models {
	const struct hub_entry *e;
	size_t *order; /* indices in e of the GGUF files, parts of a model adjacent */
	size_t n_order;
	struct gguf *at;
	size_t n;
	const char *mmproj; /* the first mmproj file; NULL: none */
	size_t n_mmproj;
};

static int compare_paths(const void *a, const void *b, void *user)
{
	const struct hub_entry *e = user;
	const char *x = e[*(const size_t *)a].path, *y = e[*(const size_t *)b].path;
	size_t sx, sy, px, py, ax = parse_split(x, &sx, &px), ay = parse_split(y, &sy, &py);
	int c = strncmp(x, y, sx < sy ? sx : sy);

	if (c || sx != sy)
		return c ? c : sx < sy ? -1 : 1;
	if (ax != ay)
		return ax < ay ? -1 : 1;
	return px < py ? -1 : px > py;
}

static int same_model(const char *x, const char *y)
{
	size_t sx, sy, px, py, ax = parse_split(x, &sx, &px), ay = parse_split(y, &sy, &py);

	return ax && ax == ay && sx == sy && !strncmp(x, y, sx);
}

static int find_models(struct models *m, struct arena *mem, const struct hub_entry *e, size_t n,
                       infer_error *err)
{
	*m = (struct models){ .e = e };
	m->order = arena_alloc(mem, n + 1, sizeof *m->order);
	m->at = arena_alloc(mem, n + 1, sizeof *m->at);
	if (!m->order || !m->at)
		return err_set(err, INFER_ENOMEM, "out of memory for %zu files", n);
	for (size_t i = 0; i < n; i++) {
		if (is_model(e[i].path))
			m->order[m->n_order++] = i;
		if (is_mmproj(e[i].path) && !m->n_mmproj++)
			m->mmproj = hub_base(e[i].path);
	}
	if (m->n_order)
		qsort_r(m->order, m->n_order, sizeof *m->order, compare_paths, (void *)(size_t)e);
	for (size_t i = 0; i < m->n_order; i++) {
		const char *path = e[m->order[i]].path;
		struct gguf *g = &m->at[m->n];

		if (m->n && same_model(path, e[m->order[i - 1]].path)) {
			g--;
		} else {
			g->at = i;
			name_gguf(g, path);
			m->n++;
		}
		g->n++;
		g->bytes += e[m->order[i]].bytes;
	}
	return INFER_OK;
}

static int is_whole(const struct gguf *g) { return g->n == (g->parts ? g->parts : 1); }

static const char *model_path(const struct models *m, const struct gguf *g)
{
	return m->e[m->order[g->at]].path;
}

static int same_tag(const struct gguf *a, const struct gguf *b)
{
	return a->is_ud == b->is_ud && a->tag_n == b->tag_n &&
	       !strncasecmp(a->tag, b->tag, a->tag_n);
}

/* Write "Q4_K_M, UD-Q2_K_XL, x.gguf and 3 more". */
static void list_models(char *out, size_t room, const struct models *m)
{
	size_t len = 0, shown = 0, other = 0;

	*out = 0;
	for (size_t i = 0; i < m->n; i++) {
		const struct gguf *g = &m->at[i];
		size_t k = 0;

		while (g->tag_n && shown < LISTED && k < i &&
		       !(m->at[k].tag_n && same_tag(&m->at[k], g)))
			k++;
		if (g->tag_n && shown < LISTED && k < i)
			continue;
		const char *name = g->tag_n ? g->tag : model_path(m, g);
		size_t n = g->tag_n ? g->tag_n : strlen(name);

		if (shown == LISTED || len + n + 24 > room) {
			other++;
			continue;
		}
		len += (size_t)snprintf(out + len, room - len, "%s%s%.*s", shown++ ? ", " : "",
		                        g->tag_n && g->is_ud ? "UD-" : "", (int)n, name);
	}
	if (other)
		snprintf(out + len, room - len, " and %zu more", other);
}

int hub_quants(char *out, size_t room, struct arena *mem, const struct hub_entry *e, size_t n,
               infer_error *err)
{
	struct models m;

	*out = 0;
	TRY(find_models(&m, mem, e, n, err));
	list_models(out, room, &m);
	return INFER_OK;
}

/* ---- choosing ---- */

static int take_gguf(struct hub_choice *c, struct arena *mem, const struct models *m,
                     const struct gguf *g, const char *ref, infer_error *err)
{
	c->first = model_path(m, g);
	if (!is_whole(g))
		return err_set(err, INFER_EFORMAT, "%s: %.100s: %zu of %zu parts are there", ref,
		               c->first, g->n, g->parts);
	c->at = arena_alloc(mem, g->n, sizeof *c->at);
	if (!c->at)
		return err_set(err, INFER_ENOMEM, "out of memory for %zu files", g->n);
	memcpy(c->at, m->order + g->at, g->n * sizeof *c->at);
	c->n = g->n;
	c->bytes = g->bytes;
	return INFER_OK;
}

/* Fail because models a and b have the same quantisation; the message names both files. */
static int refuse_several(const struct models *m, const struct gguf *a, const struct gguf *b,
                          const char *ref, infer_error *err)
{
	return err_set(err, INFER_EINVAL,
	               "%s has %.*s of several models: name one: %s:%.60s or :%.60s", ref,
	               (int)a->tag_n, a->tag, ref, model_path(m, a), model_path(m, b));
}

static int take_quant(struct hub_choice *c, struct arena *mem, const struct models *m,
                      const char *what, const char *ref, infer_error *err)
{
	const struct gguf *best = NULL, *other = NULL;
	int ud = !strncasecmp(what, "UD-", 3);
	const char *tag = ud ? what + 3 : what;
	char there[120];

	for (size_t i = 0; i < m->n; i++) {
		const struct gguf *g = &m->at[i];

		if (strlen(tag) != g->tag_n || strncasecmp(g->tag, tag, g->tag_n) != 0 ||
		    (ud && !g->is_ud))
			continue;
		if (!best || (best->is_ud && !g->is_ud)) {
			best = g;
			other = NULL;
		} else if (best->is_ud == g->is_ud) {
			other = g;
		}
	}
	if (other)
		return refuse_several(m, best, other, ref, err);
	if (best)
		return take_gguf(c, mem, m, best, ref, err);
	list_models(there, sizeof there, m);
	return err_set(err, INFER_EINVAL, "%s has neither a file nor a quantisation '%.60s'%s%s",
	               ref, what, *there ? "; it has " : ": it has no GGUF files", there);
}

static int take_file(struct hub_choice *c, struct arena *mem, const struct models *m, size_t at,
                     const char *ref, infer_error *err)
{
	for (size_t i = 0; i < m->n; i++)
		for (size_t k = 0; k < m->at[i].n; k++)
			if (m->order[m->at[i].at + k] == at)
				return take_gguf(c, mem, m, &m->at[i], ref, err);
	c->at = arena_alloc(mem, 1, sizeof *c->at);
	if (!c->at)
		return err_set(err, INFER_ENOMEM, "out of memory for a file");
	*c->at = at;
	c->n = 1;
	c->bytes = m->e[at].bytes;
	c->first = m->e[at].path;
	return INFER_OK;
}

/* Return the rank of a model if the reference names none; lower is better: see hub_choose. */
static int rank_model(const struct gguf *g)
{
	if (g->tag_n == 6 && !g->is_ud && !strncasecmp(g->tag, "Q4_K_M", 6))
		return 0;
	return g->bits == 4 ? 1 : g->bits > 4 && g->bits <= 8 ? 2 : g->bits && g->bits < 4 ? 3 : 4;
}

static int is_better(const struct gguf *a, const struct gguf *b)
{
	int x = rank_model(a), y = rank_model(b);

	if (x != y)
		return x < y;
	return x == 1 || x == 3 ? a->bytes > b->bytes : a->bytes < b->bytes;
}

/* Write c->note: the choice, the memory of the machine if a directory exceeds it, and the mmproj
 * file that is not used. */
static void say_choice(struct hub_choice *c, const struct models *m, const struct gguf *g,
                       uint64_t memory, const char *ref)
{
	char size[16], has[16];
	size_t n;

	hub_size(size, c->bytes);
	if (g && g->tag_n && m->n > 1)
		n = (size_t)snprintf(c->note, sizeof c->note,
		                     "%.60s: %s%.*s of %zu GGUF models, %s", ref,
		                     g->is_ud ? "UD-" : "", (int)g->tag_n, g->tag, m->n, size);
	else if (g)
		n = (size_t)snprintf(c->note, sizeof c->note, "%.60s: %.80s, %s", ref, c->first,
		                     size);
	else
		n = (size_t)snprintf(c->note, sizeof c->note, "%.60s: the directory, %zu files, %s",
		                     ref, c->n, size);
	hub_size(has, memory);
	if (!fits_memory(c->bytes, memory) && n < sizeof c->note)
		n += (size_t)snprintf(c->note + n, sizeof c->note - n,
		                      "; this machine has %s of memory", has);
	if (m->mmproj && n < sizeof c->note)
		snprintf(c->note + n, sizeof c->note - n, "; %.60s is not used", m->mmproj);
}

static int take_best(struct hub_choice *c, struct arena *mem, const struct models *m,
                     uint64_t memory, const char *ref, infer_error *err)
{
	const struct gguf *best = NULL, *least = NULL;
	char need[16], have[16];

	for (size_t i = 0; i < m->n; i++) {
		const struct gguf *g = &m->at[i];

		if (!is_whole(g) || is_foreign(g))
			continue;
		if (!least || g->bytes < least->bytes)
			least = g;
		if (fits_memory(g->bytes, memory) && (!best || is_better(g, best)))
			best = g;
	}
	if (!least)
		return err_set(err, INFER_EUNSUP, "%s: no GGUF file of it can be run", ref);
	if (!best) {
		hub_size(need, least->bytes);
		hub_size(have, memory);
		return err_set(
			err, INFER_ENOMEM,
			"%s: no file fits: the smallest, %.80s, has %s, and this machine %s; "
			"add \":FILE\" to use it anyway",
			ref, model_path(m, least), need, have);
	}
	for (size_t i = 0; i < m->n; i++)
		if (&m->at[i] != best && best->tag_n && is_whole(&m->at[i]) &&
		    same_tag(&m->at[i], best))
			return refuse_several(m, best, &m->at[i], ref, err);
	TRY(take_gguf(c, mem, m, best, ref, err));
	say_choice(c, m, best, memory, ref);
	return INFER_OK;
}

int hub_choose(struct hub_choice *c, struct arena *mem, const struct hub_entry *e, size_t n,
               const char *what, uint64_t memory_bytes, const char *ref, infer_error *err)
{
	struct models m;

	*c = (struct hub_choice){ 0 };
	TRY(find_models(&m, mem, e, n, err));
	for (size_t i = 0; what && i < n; i++)
		if (!strcmp(e[i].path, what))
			return take_file(c, mem, &m, i, ref, err);
	if (what)
		return take_quant(c, mem, &m, what, ref, err);
	if (m.n)
		return take_best(c, mem, &m, memory_bytes, ref, err);
	TRY(hub_choose_dir(c, mem, e, n, ref, err));
	say_choice(c, &m, NULL, memory_bytes, ref);
	return INFER_OK;
}
