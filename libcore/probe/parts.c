/* probe/parts.c - the library of described machines: parts.yaml, linked into .rodata. */
#include <infer/machine.h>
#include "base/arena.h"
#include "base/err.h"
#include "base/nearest.h"
#include "probe/probe.h"
#include "base/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__asm__(".pushsection .rodata.parts, \"a\", %progbits\n"
        "parts_first: .incbin \"libcore/probe/parts.yaml\"\n"
        "parts_last: .byte 0\n"
        ".popsection\n");
extern const char parts_first[] __attribute__((visibility("hidden")));
extern const char parts_last[] __attribute__((visibility("hidden")));

enum { NAME = 32, TITLE = 80 };

/* Find part i.  A part begins with a line "NAME:" that is not indented.  Copies the name to `to`
 * and returns the address of the line; NULL: there are fewer parts. */
static const char *part_at(int i, char to[NAME])
{
	for (const char *p = parts_first; p < parts_last; p++) {
		const char *end = memchr(p, '\n', (size_t)(parts_last - p));
		size_t n = end ? (size_t)(end - p) : 0;

		if (n > 1 && n <= NAME && *p >= 'a' && *p <= 'z' && p[n - 1] == ':' && !i--) {
			memcpy(to, p, n - 1);
			to[n - 1] = 0;
			return p;
		}
		if (!end)
			break;
		p = end;
	}
	return NULL;
}

int infer_machine_name(int i, char name[32]) { return part_at(i, name) != NULL; }

/* Copy the value of the key `name` in the text of a part, which is its first line. */
static void part_title(char title[TITLE], const char *at)
{
	const char *line = memchr(at, '\n', (size_t)(parts_last - at)), *from, *end;
	size_t n;

	*title = 0;
	if (!line || strncmp(line + 1, "  name: ", 8) != 0)
		return;
	from = line + 9;
	end = memchr(from, '\n', (size_t)(parts_last - from));
	n = end ? (size_t)(end - from) : 0;
	n = n < TITLE ? n : TITLE - 1;
	memcpy(title, from, n);
	title[n] = 0;
}

/* The parts that a name may mean. */
struct found {
	int at, n;       /* index of the first, and how many */
	int rank;        /* of probe_name_rank */
	char names[120]; /* of several, for a message */
};

static void add_name(struct found *f, const char *name)
{
	size_t used = strlen(f->names);

	if (used + strlen(name) + 3 < sizeof f->names)
		snprintf(f->names + used, sizeof f->names - used, "%s%s", used ? ", " : "", name);
}

static struct found match_parts(const char *name, size_t n)
{
	struct found f = { .n = 0 };
	char is[NAME], title[TITLE];
	const char *at;

	for (int i = 0; (at = part_at(i, is)); i++) {
		part_title(title, at);
		int rank = strlen(is) == n && !memcmp(is, name, n)
		                   ? 3
		                   : probe_name_rank(name, n, is, title);

		if (!rank || rank < f.rank)
			continue;
		if (rank > f.rank)
			f = (struct found){ .at = i, .rank = rank };
		f.n++;
		add_name(&f, is);
	}
	return f;
}

/* Fail because no part has the name.  Suggests the most similar one. */
static int fail_part(const char *name, int shown, infer_error *err)
{
	char typed[NEAREST_NAME], is[NAME];
	int best = -1;
	struct nearest near;

	snprintf(typed, sizeof typed, "%.*s", shown, name);
	nearest_begin(&near, typed);
	for (int i = 0; part_at(i, is); i++) {
		int was = near.least;
		nearest_try(&near, is);
		if (near.best && near.least < was)
			best = i;
		if (best < 0)
			near.best = NULL;
	}
	for (int i = 0, most = 0; !near.best && part_at(i, is); i++) {
		int like = probe_name_likeness(name, (size_t)shown, is);

		best = like > most ? i : best;
		most = like > most ? like : most;
	}
	if (best >= 0)
		part_at(best, is);
	return err_set(
		err, INFER_EINVAL,
		"'%s' is not a machine of the library%s%s: infer-inspect hw --hw all lists them",
		typed, best >= 0 ? "; did you mean " : "", best >= 0 ? is : "");
}

/* Find the text of a part by its name.  INFER_EINVAL: there is no such part, or several; the
 * message suggests names. */
static int find_part(const char *name, size_t n, const char **at, size_t *bytes, infer_error *err)
{
	struct found f = match_parts(name, n);
	char is[NAME], next[NAME];
	int shown = (int)(n < 40 ? n : 40);

	if (f.n > 1)
		return err_set(err, INFER_EINVAL, "'%.*s' may be one of several machines: %s",
		               shown, name, f.names);
	if (!f.n)
		return fail_part(name, shown, err);
	const char *from = part_at(f.at, is), *end = part_at(f.at + 1, next);

	*at = from + strlen(is) + 2;
	*bytes = (size_t)((end ? end : parts_last) - *at);
	return INFER_OK;
}

static int read_part(struct infer_machine *m, const char *name, size_t n, infer_error *err)
{
	struct ytree *root = NULL;
	struct arena tree;
	const char *at = NULL;
	size_t bytes = 0;

	*m = (struct infer_machine){ .measured = 0 };
	TRY(find_part(name, n, &at, &bytes, err));
	arena_init(&tree, MEM_PLAN);
	int rc = ytree_read(&root, &tree, at, bytes, "parts.yaml", err);

	if (!rc)
		rc = probe_machine_take(m, root, "parts.yaml", err);
	arena_fini(&tree);
	return rc;
}

/* Add the accelerators of a part to m, or copy the part if m is empty. */
static int join_machines(struct infer_machine *m, const struct infer_machine *more,
                         infer_error *err)
{
	if (!*m->name) {
		*m = *more;
		return INFER_OK;
	}
	if (m->gpu.count || !more->gpu.count || more->memory_bytes)
		return err_set(
			err, INFER_EINVAL,
			"a machine must be a host, accelerators, or a host + accelerators of one "
			"kind");
	m->gpu = more->gpu;
	for (int i = 0; i < more->n_sources && m->n_sources < INFER_MACHINE_SOURCES; i++)
		m->sources[m->n_sources++] = more->sources[i];
	return INFER_OK;
}

/* Read a number before a name: "2x h100".  Returns the bytes before the name, 0 if there is no number; a name that
 * the library has ("7900 XTX") has none. */
static size_t read_count(long *count, const char *p, size_t n)
{
	size_t digits = strspn(p, "0123456789"), at = digits + strspn(p + digits, " ");
	char *end;

	if (!digits || digits > 4 || at >= n || (p[at] != 'x' && p[at] != 'X') ||
	    match_parts(p, n).n > 0)
		return 0;
	at++;
	at += strspn(p + at, " ");
	if (at >= n)
		return 0;
	*count = strtol(p, &end, 10);
	return at;
}

/* Multiply the accelerators of a part of the machine `name`. */
static int multiply_part(struct infer_machine *part, long count, const char *name, infer_error *err)
{
	if (count < 1 || count > 1024)
		return err_set(err, INFER_EINVAL,
		               "'%.60s': the number of accelerators must be from 1 to 1024", name);
	if (!part->gpu.count || part->gpu.unified)
		return err_set(err, INFER_EINVAL, "'%.60s': only accelerators can have a number",
		               name);
	part->gpu.count *= (int32_t)count;
	return INFER_OK;
}

int infer_machine_find(struct infer_machine *m, const char *name, infer_error *err)
{
	struct infer_machine part;

	*m = (struct infer_machine){ .measured = 0 };
	for (const char *p = name;;) {
		size_t n = strcspn(p, "+*");
		long count = 1;
		size_t before = read_count(&count, p, n);
		char *end = (char *)p + n;

		TRY(read_part(&part, p + before, n - before, err));
		if (p[n] == '*') {
			if (before)
				return err_set(
					err, INFER_EINVAL,
					"'%.60s': a number before the name or * after it, not both",
					name);
			count = strtol(p + n + 1, &end, 10);
			if (count < 1 || count > 1024 || (*end && *end != '+'))
				return err_set(
					err, INFER_EINVAL,
					"'%.60s': * must be followed by a number from 1 to 1024",
					name);
		}
		if (before || p[n] == '*')
			TRY(multiply_part(&part, count, name, err));
		TRY(join_machines(m, &part, err));
		if (!*end)
			return INFER_OK;
		p = end + 1;
	}
}
