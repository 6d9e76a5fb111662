/* Every format of model files, asked in this order.  No guard: included once per use of FORMAT(). */
FORMAT(gguf)
