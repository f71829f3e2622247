import numpy as np
import tensorflow as tf

a = tf.constant(np.random.rand(500, 500))
for i in range(20):
    a = tf.linalg.matmul(a, a)
    a = a / tf.norm(a)
print(a[0, 0].numpy())
