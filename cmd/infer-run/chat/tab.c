/* infer-run/chat/tab.c - completion of commands and file names. */
#include "tab.h"
#include "base/utf8.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void tab_init(struct tab *t)
{
	*t = (struct tab){ 0 };
	buf_init(&t->text, MEM_BASE);
	buf_init(&t->at, MEM_BASE);
}

void tab_fini(struct tab *t)
{
	buf_fini(&t->text);
	buf_fini(&t->at);
}

const char *tab_name(const struct tab *t, size_t i)
{
	return t->text.at + ((const size_t *)(const void *)t->at.at)[i];
}

static void add_name(struct tab *t, const char *name, const char *behind)
{
	size_t at = t->text.len;

	buf_printf(&t->text, "%s%s", name, behind);
	buf_putc(&t->text, 0);
	if (!t->text.bad)
		buf_put(&t->at, &at, sizeof at);
	if (!t->text.bad && !t->at.bad)
		t->n++;
}

/* True if the name is UTF-8 without control characters. */
static int is_plain(const char *s)
{
	size_t n = strlen(s);
	uint32_t cp;

	for (size_t i = 0; i < n;) {
		int k = utf8_get(s + i, n - i, &cp);

		if (!k || cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
			return 0;
		i += (size_t)k;
	}
	return 1;
}

/* Add the names in the directory of path[n] that begin with its last part. */
static void add_files(struct tab *t, const char *path, size_t n)
{
	struct buf dir;
	const struct dirent *e;
	size_t from = n;

	while (from && path[from - 1] != '/')
		from--;
	t->typed = n - from;
	buf_init(&dir, MEM_BASE);
	buf_put(&dir, from ? path : "./", from ? from : 2);
	t->text.bad |= dir.bad;
	DIR *d = dir.bad ? NULL : opendir(dir.at);

	while (d && (e = readdir(d))) {
		const char *name = e->d_name;
		struct stat st;

		if (strncmp(name, path + from, t->typed) || !is_plain(name) ||
		    (*name == '.' && (!t->typed || !strcmp(name, ".") || !strcmp(name, ".."))))
			continue;
		int is_dir = !fstatat(dirfd(d), name, &st, 0) && S_ISDIR(st.st_mode);

		add_name(t, name, is_dir ? "/" : "");
	}
	if (d)
		closedir(d);
	buf_fini(&dir);
}

static int compare_names(const void *a, const void *b, void *text)
{
	return strcmp((const char *)text + *(const size_t *)a,
	              (const char *)text + *(const size_t *)b);
}

/* Return the length of the common prefix of two names, in whole characters. */
static size_t common_name_prefix(const char *a, const char *b, size_t most)
{
	size_t n = 0;

	while (n < most && a[n] && a[n] == b[n])
		n++;
	while (n && ((unsigned char)a[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static void sort_names(struct tab *t)
{
	if (!t->n)
		return;
	qsort_r(t->at.at, t->n, sizeof(size_t), compare_names, t->text.at);
	t->common = strlen(tab_name(t, 0));
	for (size_t i = 1; i < t->n; i++)
		t->common = common_name_prefix(tab_name(t, 0), tab_name(t, i), t->common);
}

int tab_find(struct tab *t, const char *line, size_t n, tab_command *command)
{
	size_t word = 1, rest;
	const char *name;
	int file = -1, takes;

	buf_clear(&t->text);
	buf_clear(&t->at);
	t->n = t->typed = t->common = 0;
	t->ends = 0;
	if (!n || line[0] != '/' || memchr(line, '\n', n))
		return 0;
	while (word < n && line[word] != ' ')
		word++;
	for (size_t i = 0; (name = command(i, &takes)); i++) {
		size_t len = strlen(name);

		if (word == n && len >= n - 1 && !memcmp(name, line + 1, n - 1)) {
			add_name(t, name, "");
			t->ends = takes >= 0;
		} else if (len == word - 1 && !memcmp(name, line + 1, len)) {
			file = takes;
		}
	}
	if (word == n) {
		t->typed = n - 1;
	} else {
		if (file != 1)
			return 0;
		for (rest = word; rest < n && line[rest] == ' '; rest++)
			;
		add_files(t, line + rest, n - rest);
	}
	t->ends &= t->n == 1;
	sort_names(t);
	return 1;
}
