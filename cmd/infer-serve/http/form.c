/* infer-serve/http/form.c - a body of type multipart/form-data, parsed as it arrives.
 *
 * A delimiter is CR LF, two hyphens and the boundary. Only its first byte is a CR, so after a mismatch the
 * next delimiter can begin only at the byte that did not match. */
#include "infer-serve/http/form.h"

#include <string.h>
#include <strings.h>

/* ---- parameters: name=value or name="value", after semicolons ---- */

/* Copy the value at *at to `to` [room]. Returns 0 if it is too long, or a quote is not closed. */
static int copy_value(char *to, size_t room, const char **at)
{
	const char *c = *at;
	const int quoted = *c == '"';
	size_t n = 0;

	for (c += quoted; *c && (quoted ? *c != '"' : !strchr("; \t", *c)); c++) {
		if (quoted && *c == '\\' && (c[1] == '"' || c[1] == '\\'))
			c++;
		if (n + 1 >= room)
			return 0;
		to[n++] = *c;
	}
	to[n] = 0;
	if (quoted && *c != '"')
		return 0;
	*at = c + quoted;
	return 1;
}

/* Find the parameter `name` in a field's value, and copy it. Returns 1 if it is there, 0 if not, -1 if the
 * value is malformed. other: room for the values of other parameters, which are skipped. */
static int find_parameter(char *to, size_t room, const char *value, const char *name)
{
	char other[FORM_HEAD];
	size_t n = strlen(name);

	value += strcspn(value, ";");
	while (*value == ';') {
		value += 1 + strspn(value + 1, "; \t");
		const int is_it = !strncasecmp(value, name, n) && value[n] == '=';

		value += strcspn(value, "=;");
		if (*value != '=')
			continue;
		value++;
		if (!copy_value(is_it ? to : other, is_it ? room : sizeof other, &value))
			return -1;
		if (is_it)
			return 1;
		value += strcspn(value, ";");
	}
	return 0;
}

int form_open(struct form *f, const char *type, const struct form_calls *calls, void *user)
{
	static const char form[] = "multipart/form-data";
	const size_t n = sizeof form - 1;
	char boundary[FORM_BOUNDARY + 1];

	if (!type || strncasecmp(type, form, n) || !strchr("; \t", type[n]) ||
	    find_parameter(boundary, sizeof boundary, type, "boundary") != 1 || !*boundary)
		return 0;
	*f = (struct form){ .calls = calls, .user = user, .delimiter = "\r\n--" };
	strcat(f->delimiter, boundary);
	f->delimiter_n = strlen(f->delimiter);
	f->matched = 2; /* the first delimiter needs no line before it */
	return 1;
}

/* ---- the head of a part ---- */

/* Return the value of a field of the head, whose lines end with NUL; NULL: there is none. */
static const char *find_field(const struct form *f, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = f->head; at < f->head + f->head_n; at += strlen(at) + 1)
		if (!strncasecmp(at, name, n) && at[n] == ':')
			return at + n + 1 + strspn(at + n + 1, " \t");
	return NULL;
}

static int is_plain(const char *encoding)
{
	return !encoding || !strcasecmp(encoding, "binary") || !strcasecmp(encoding, "8bit") ||
	       !strcasecmp(encoding, "7bit");
}

/* Read the whole head, and begin the part. */
static void begin_part(struct form *f)
{
	char name[FORM_HEAD], filename[FORM_HEAD];
	const char *value;
	int has_name = 0, has_filename = 0;

	f->head_n -= 2; /* the empty line */
	for (size_t i = 0; i + 1 < f->head_n; i++)
		if (f->head[i] == '\r' && f->head[i + 1] == '\n')
			f->head[i] = f->head[i + 1] = 0;
	f->head[f->head_n] = 0;
	value = find_field(f, "Content-Disposition");
	if (value && !strncasecmp(value, "form-data", 9)) {
		has_name = find_parameter(name, sizeof name, value, "name");
		has_filename = find_parameter(filename, sizeof filename, value, "filename");
	}
	if (has_name != 1 || has_filename < 0 ||
	    !is_plain(find_field(f, "Content-Transfer-Encoding"))) {
		f->state = FORM_BROKEN;
		return;
	}
	f->state = FORM_DATA;
	f->matched = 0;
	f->calls->begin(f->user, name, has_filename ? filename : NULL);
}

static void put_head_byte(struct form *f, char c)
{
	if (!c || f->head_n + 1 >= FORM_HEAD) {
		f->state = FORM_BROKEN;
		return;
	}
	f->head[f->head_n++] = c;
	if ((f->head_n == 2 && !memcmp(f->head, "\r\n", 2)) ||
	    (f->head_n > 3 && !memcmp(f->head + f->head_n - 4, "\r\n\r\n", 4)))
		begin_part(f);
}

/* ---- contents and delimiters ---- */

static void put_data(struct form *f, const char *at, size_t n)
{
	if (n && f->state == FORM_DATA)
		f->calls->data(f->user, at, n);
}

/* Read bytes of the contents, up to a delimiter. Returns how many. */
static size_t put_contents(struct form *f, const char *at, size_t n)
{
	size_t i = 0, run;
	const char *cr;

	if (f->matched == f->delimiter_n) {
		/* not a delimiter if a longer word begins with the boundary */
		if (strchr("- \t\r", *at) && *at) {
			f->state = FORM_DELIMITER;
			f->line_n = 0;
			return 0;
		}
		put_data(f, f->delimiter, f->matched);
		f->matched = 0;
	}
	if (!f->matched) {
		cr = memchr(at, '\r', n);
		run = cr ? (size_t)(cr - at) : n;
		put_data(f, at, run);
		f->matched = cr != NULL;
		return run + (cr != NULL);
	}
	while (i < n && f->matched < f->delimiter_n && at[i] == f->delimiter[f->matched]) {
		f->matched++;
		i++;
	}
	if (i < n && f->matched < f->delimiter_n) {
		/* a delimiter at the start of the body has no CR LF */
		put_data(f, f->delimiter, f->matched);
		f->matched = 0;
	}
	return i;
}

/* Read the rest of a delimiter's line: two hyphens end the form, CR LF begins a part. */
static void put_line_byte(struct form *f, char c)
{
	if (!f->line_n && (c == ' ' || c == '\t'))
		return;
	f->line[f->line_n++] = c;
	if (f->line_n < 2)
		return;
	f->state = !memcmp(f->line, "--", 2)     ? FORM_ENDED
	           : !memcmp(f->line, "\r\n", 2) ? FORM_FIELDS
	                                         : FORM_BROKEN;
	f->head_n = 0;
}

void form_put(struct form *f, const char *at, size_t n)
{
	size_t i = 0;

	while (i < n)
		switch (f->state) {
		case FORM_BEFORE:
		case FORM_DATA:
			i += put_contents(f, at + i, n - i);
			break;
		case FORM_DELIMITER:
			put_line_byte(f, at[i++]);
			break;
		case FORM_FIELDS:
			put_head_byte(f, at[i++]);
			break;
		case FORM_ENDED: /* what follows is ignored (RFC 2046 5.1.1) */
		case FORM_BROKEN:
			return;
		}
}
