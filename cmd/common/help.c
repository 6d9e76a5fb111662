/* common/help.c - the texts of -h, --help, --help=SECTION and --help=rows. */
#include "common/help.h"
#include "base/err.h"
#include <infer/sample.h>

#include <string.h>

enum { WIDTH = 80, OPTION_COLUMN = 30, SUBJECT_COLUMN = 12, EXAMPLE_COLUMN = 50 };

static size_t line_length(const struct buf *out)
{
	size_t n = 0;

	while (n < out->len && out->at[out->len - 1 - n] != '\n')
		n++;
	return n;
}

/* Append words from `column` on, wrapped at WIDTH; new lines are indented to `column`. */
static void put_words(struct buf *out, const char *text, size_t column)
{
	for (size_t n, at = line_length(out); *text; text += n) {
		while (*text == ' ')
			text++;
		n = strcspn(text, " ");
		if (at > column && at + 1 + n > WIDTH) {
			buf_putc(out, '\n');
			at = 0;
		}
		size_t space = at < column ? column - at : at > column;

		if (n)
			buf_printf(out, "%*s%.*s", (int)space, "", (int)n, text);
		at += space + n;
	}
}

static void put_help_line(struct buf *out, const char *head, const char *text, size_t column)
{
	buf_printf(out, "  %s", head);
	if (text && line_length(out) + 2 > column)
		buf_putc(out, '\n');
	if (text)
		put_words(out, text, column);
	buf_putc(out, '\n');
}

static void put_lines(struct buf *out, const struct help_line *lines, size_t column)
{
	for (; lines && lines->head; lines++)
		put_help_line(out, lines->head, lines->text, column);
}

static void put_option(struct buf *out, const struct opt *o)
{
	struct buf head, text;

	buf_init(&head, MEM_BASE);
	buf_init(&text, MEM_BASE);
	if (o->key)
		buf_printf(&head, "-%c%s", o->key, o->name ? ", " : "");
	else
		buf_puts(&head, "    ");
	if (o->name)
		buf_printf(&head, "--%s", o->name);
	if (o->arg)
		buf_printf(&head, "%s%s", *o->arg == '[' ? "" : " ", o->arg);
	buf_puts(&text, o->help);
	if (o->kind == OPT_NUM_GIVEN)
		buf_printf(&text, " (%g)", o->usual);
	out->bad |= head.bad | text.bad;
	if (!out->bad)
		put_help_line(out, head.at, text.at, OPTION_COLUMN);
	buf_fini(&head);
	buf_fini(&text);
}

static void put_examples(struct buf *out, const struct program *p)
{
	buf_puts(out, "\nExamples:\n");
	put_lines(out, p->examples, EXAMPLE_COLUMN);
}

/* Append the names of the sections, as in "prompt, model, ...". */
static void put_sections(struct buf *out, const struct opt *rows)
{
	for (; rows->kind != OPT_END; rows++)
		if (rows->kind == OPT_GROUP)
			buf_printf(out, "%s, ", rows->name);
	buf_puts(out, "examples");
}

/* Append the last lines: the sections, and the man page. */
static void put_more(struct buf *out, const struct program *p, const struct opt *rows,
                     const char *first)
{
	struct buf text;

	buf_init(&text, MEM_BASE);
	buf_printf(&text, "%s--help=SECTION shows a part: ", first);
	put_sections(&text, rows);
	buf_printf(&text, ".  man %s tells more.", p->name);
	out->bad |= text.bad;
	buf_putc(out, '\n');
	if (!out->bad)
		put_words(out, text.at, 0);
	buf_putc(out, '\n');
	buf_fini(&text);
}

void help_brief(struct buf *out, const struct program *p, const struct opt *rows)
{
	buf_printf(out, "Usage: %s\n%s\n\n", p->usage, p->brief);
	put_lines(out, p->subjects, SUBJECT_COLUMN);
	if (p->subjects)
		buf_putc(out, '\n');
	for (const struct opt *o = rows; o->kind != OPT_END; o++)
		if (o->marks & OPT_COMMON)
			put_option(out, o);
	put_examples(out, p);
	put_more(out, p, rows, "--help lists all options, ");
}

/* Append the rows of a group with its heading. Returns the row after the group. */
static const struct opt *put_group(struct buf *out, const struct opt *rows)
{
	buf_printf(out, "\n%s:\n", rows->help);
	for (rows++; rows->kind != OPT_END && rows->kind != OPT_GROUP; rows++)
		put_option(out, rows);
	return rows;
}

static void put_whole_help(struct buf *out, const struct program *p, const struct opt *rows)
{
	buf_printf(out, "Usage: %s\n%s\n", p->usage, p->brief);
	if (p->about) {
		put_words(out, p->about, 0);
		buf_putc(out, '\n');
	}
	if (p->subjects)
		buf_putc(out, '\n');
	put_lines(out, p->subjects, SUBJECT_COLUMN);
	for (const struct opt *o = rows; o->kind != OPT_END;)
		o = put_group(out, o);
	put_examples(out, p);
	put_more(out, p, rows, "");
}

/* Append the values of an option for completion, in the form of `values` in struct opt. */
static void put_values(struct buf *out, const struct opt *o, const struct opt *rows)
{
	if (o->kind == OPT_PICK) {
		for (const char *c = o->arg; *c; c++)
			buf_putc(out, *c == '|' ? ' ' : *c);
	} else if (o->kind == OPT_NUM_GIVEN && o->marks & OPT_WHOLE && o->hi - o->lo < 8) {
		for (int i = (int)o->lo; i <= (int)o->hi; i++)
			buf_printf(out, i > (int)o->lo ? " %d" : "%d", i);
	} else if (o->kind == OPT_HELP) {
		for (; rows->kind != OPT_END; rows++)
			if (rows->kind == OPT_GROUP)
				buf_printf(out, "%s ", rows->name);
		buf_puts(out, "examples rows");
	} else if (o->values && !strcmp(o->values, "@stages")) {
		for (int i = INFER_STAGE_END + 1; i < INFER_STAGE_COUNT; i++)
			buf_printf(out, "%s%s", i > 1 ? " " : ",", infer_stage_name(i));
	} else if (o->values) {
		buf_puts(out, o->values);
	}
}

/* Append one line per sub-command, section and option, with tabs between the fields:
 * section NAME TITLE
 * subject NAME HELP
 * option KIND SHORT LONG ARG VALUES SLOT HELP
 *   KIND  flag, value, list (may be given more than once) or last (parsing ends)
 *   SLOT  the same number for options that set the same field */
static void put_rows(struct buf *out, const struct program *p, const struct opt *rows)
{
	for (const struct help_line *l = p->subjects; l && l->head; l++)
		buf_printf(out, "subject\t%s\t%s\n", l->head, l->text);
	for (const struct help_line *l = p->words; l && l->head; l++)
		buf_printf(out, "subject\t%s\t%s\n", l->head, l->text);
	for (const struct opt *o = rows; o->kind != OPT_END; o++) {
		if (o->kind == OPT_GROUP) {
			buf_printf(out, "section\t%s\t%s\n", o->name, o->help);
			continue;
		}
		buf_printf(out, "option\t%s\t",
		           o->kind == OPT_LIST || o->kind == OPT_MORE   ? "list"
		           : o->kind == OPT_LAST || o->kind == OPT_HELP ? "last"
		           : o->arg                                     ? "value"
		                                                        : "flag");
		if (o->key)
			buf_printf(out, "-%c", o->key);
		buf_printf(out, "\t%s%s\t%s\t", o->name ? "--" : "", o->name ? o->name : "",
		           o->arg ? o->arg : "");
		put_values(out, o, rows);
		buf_printf(out, "\t%zu\t%s", o->at, o->help);
		if (o->kind == OPT_NUM_GIVEN)
			buf_printf(out, " (%g)", o->usual);
		buf_putc(out, '\n');
	}
}

int help_put(struct buf *out, const struct program *p, const struct opt *rows, const char *section,
             infer_error *err)
{
	struct buf known;
	int rc;

	if (!*section) {
		put_whole_help(out, p, rows);
		return INFER_OK;
	}
	if (!strcmp(section, "rows")) {
		put_rows(out, p, rows);
		return INFER_OK;
	}
	if (!strcmp(section, "examples")) {
		put_examples(out, p);
		return INFER_OK;
	}
	for (const struct opt *o = rows; o->kind != OPT_END; o++)
		if (o->kind == OPT_GROUP && !strcmp(o->name, section)) {
			put_group(out, o);
			return INFER_OK;
		}
	buf_init(&known, MEM_BASE);
	put_sections(&known, rows);
	rc = known.bad ? err_set(err, INFER_ENOMEM, "out of memory for the help")
	               : err_set(err, INFER_EINVAL, "--help: '%.40s' is not one of %s", section,
	                         known.at);
	buf_fini(&known);
	return rc;
}
