/* record/fields.c - selecting the fields of records */
#include "record/record.h"
#include "base/err.h"

#include <assert.h>
#include <string.h>

static const char *const names[] = {
#define FIELD(name) #name,
#include "record/field_list.h"
#undef FIELD
};
enum { N_NAMES = sizeof names / sizeof *names };
static_assert(N_NAMES < 64, "a bit for each");

/* Return the bit of a field, or -1. */
static int find_record_field(const char *name, size_t n)
{
	for (int i = 0; i < N_NAMES; i++)
		if (strlen(names[i]) == n && !memcmp(names[i], name, n))
			return i;
	return -1;
}

int infer_records_select(infer_records *w, const char *list, infer_error *err)
{
	uint64_t fields = 0;

	for (const char *at = list;; at++) {
		size_t n = strcspn(at, ",");
		int i = find_record_field(at, n);

		if (i < 0 && !(n == 1 && *at == 'v') && !(n == 4 && !memcmp(at, "kind", 4)))
			return err_set(err, INFER_EINVAL, "'%.*s' is not a field of records",
			               n < 80 ? (int)n : 80, at);
		fields |= i < 0 ? 0 : (uint64_t)1 << i;
		at += n;
		if (!*at)
			break;
	}
	w->fields = fields;
	w->selects = 1;
	return INFER_OK;
}

/* Return the offset after the string that begins at s[i]. */
static size_t string_end(const char *s, size_t i)
{
	for (i++; s[i] != '"'; i++)
		i += s[i] == '\\';
	return i + 1;
}

/* Return the offset after the value that begins at s[i]. */
static size_t value_end(const char *s, size_t i)
{
	int depth = 0;

	for (;;) {
		if (s[i] == '"') {
			i = string_end(s, i);
			continue;
		}
		if (!depth && (s[i] == ',' || s[i] == '}'))
			return i;
		depth += (s[i] == '{' || s[i] == '[') - (s[i] == '}' || s[i] == ']');
		i++;
	}
}

void record_cut(infer_records *w)
{
	char *s = w->text.at + w->line_at;
	size_t to = 1, i = 1;

	while (s[i] == '"') {
		size_t key_end = string_end(s, i), end = value_end(s, key_end + 1);
		int f = find_record_field(s + i + 1, key_end - i - 2);

		/* v and kind are not in the list: they are always kept */
		if (f < 0 || w->fields >> f & 1) {
			if (to > 1)
				s[to++] = ',';
			memmove(s + to, s + i, end - i);
			to += end - i;
		}
		i = end + (s[end] == ',');
	}
	memcpy(s + to, "}\n", 2);
	w->text.len = w->line_at + to + 2;
	w->text.at[w->text.len] = 0; /* buf.h: a NUL follows the text */
}
