/* tests/unit/arch/test_order.c - act-order: inputs of products are permuted once for all weights of one order, and orders
 * that are damaged or have no product are refused. */
#include "../nth.h"

#include <string.h>

#include "arch/arch.h"
#include "file/file.h"

#define GOLDEN "tests/golden/quantised/gptq-order"

/* q, k and v share an order, gate and up another one; the other matrices have their own. */
static int case_shared(void)
{
	infer_model *m = NULL;
	infer_error err;
	int rc, permutes = 0, products = 0;

	nth_ok(infer_model_open(&m, GOLDEN, NULL, &err));
	for (int i = 0; i < m->graph.n; i++) {
		const struct graph_node *n = &m->graph.nodes[i];

		permutes += n->op == GRAPH_PERMUTE;
		if (n->op != GRAPH_MM || !m->order[n->w[0]])
			continue;
		products++;
		assert_int_equal(m->graph.nodes[n->src[0]].op, GRAPH_PERMUTE);
		assert_int_equal(m->graph.nodes[n->src[0]].w[0], m->order[n->w[0]] - 1);
	}
	assert_int_equal(permutes, 4);
	assert_int_equal(products, 7);
	assert_int_equal(m->n_params, 41216);
out:
	infer_model_close(&m);
	return rc;
}

static infer_file *file;
static infer_error error;

static int open_file(void **state)
{
	(void)state;
	return infer_file_open(&file, GOLDEN, &error);
}

static int close_file(void **state)
{
	(void)state;
	infer_file_close(&file);
	return 0;
}

static struct infer_tensor *tensor(const char *name)
{
	return (struct infer_tensor *)(uintptr_t)infer_file_tensor(file, name);
}

static void refused(int code, const char *says)
{
	infer_model *m = NULL;
	int rc = infer_model_open_file(&m, file, NULL, &error);

	if (rc != code || !strstr(error.message, says))
		fail_msg("%d \"%s\", not %d \"%s\"", rc, rc ? error.message : "", code, says);
	infer_model_close(&m);
}

static void test_damaged(void **state)
{
	struct infer_tensor *o = tensor("blk.0.ffn_down.order");
	int32_t own[128];
	const void *data = o->data;

	(void)state;
	assert_int_equal(o->ne[0], 128);
	o->data = own;
	memcpy(own, data, sizeof own);
	own[7] = own[3];
	refused(INFER_EFORMAT, "blk.0.ffn_down.order: element 7");
	own[7] = 128;
	refused(INFER_EFORMAT, "element 7 is 128");
	own[7] = -1;
	refused(INFER_EFORMAT, "element 7 is -1");
	o->data = (const char *)data + 1;
	refused(INFER_EFORMAT, "128 aligned I32");
	o->data = data;
	o->ne[0] = 64;
	refused(INFER_EFORMAT, "128 aligned I32");
	o->ne[0] = 128;
	o->type = INFER_F32;
	refused(INFER_EFORMAT, "128 aligned I32");
	o->type = INFER_I32;
}

/* An embedding table is looked up by rows: nothing permutes what it gives. */
static void test_no_product(void **state)
{
	struct infer_tensor *o = tensor("blk.0.attn_q.order"), *t = tensor("token_embd.weight");

	(void)state;
	t->aux[INFER_AUX_ORDER] = o;
	refused(INFER_EUNSUP, "token_embd.weight: act-order is not supported");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_shared),
		cmocka_unit_test_setup_teardown(test_damaged, open_file, close_file),
		cmocka_unit_test_setup_teardown(test_no_product, open_file, close_file),
	};
	return nth_group(tests);
}
