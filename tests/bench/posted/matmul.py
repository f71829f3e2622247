import time

import tensorflow as tf

times = []
for n in [1, 10, 100, 500, 1000, 2000]:
    began = time.time()
    with tf.Graph().as_default():
        with tf.device("/CPU:0"):
            a = tf.compat.v1.Variable(tf.compat.v1.random_normal([n, n]))
            b = tf.compat.v1.Variable(tf.compat.v1.random_normal([n, n]))
            product = tf.matmul(a, b)
            init = tf.compat.v1.global_variables_initializer()
        with tf.compat.v1.Session() as sess:
            sess.run(init)
            result = sess.run(product)
    times.append(time.time() - began)
print(*times)
