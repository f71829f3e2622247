import tensorflow as tf

TRUE_W, TRUE_B = 3.0, 2.0
NUM = 1000
x = tf.random.normal([NUM, 8])
y = tf.reduce_sum(x, 1) * TRUE_W + TRUE_B + tf.random.normal([NUM])


class MyModel(tf.Module):
    def __init__(self):
        self.w1 = tf.Variable(tf.random.normal([8, 16]) * 0.1)
        self.b1 = tf.Variable(tf.zeros([16]))
        self.w2 = tf.Variable(tf.random.normal([16, 1]) * 0.1)
        self.b2 = tf.Variable(0.0)

    def __call__(self, x):
        h = tf.nn.relu(tf.matmul(x, self.w1) + self.b1)
        return tf.squeeze(tf.matmul(h, self.w2), 1) + self.b2


def loss(target_y, predicted_y):
    return tf.reduce_mean(tf.square(target_y - predicted_y))


model = MyModel()


def train(model, x, y, learning_rate):
    with tf.GradientTape() as t:
        current_loss = loss(y, model(x))
    variables = model.trainable_variables
    for v, dv in zip(variables, t.gradient(current_loss, variables)):
        v.assign_sub(learning_rate * dv)
    return current_loss


for epoch in range(50000):
    current = train(model, x, y, learning_rate=0.01)
    if epoch % 500 == 0:
        print(f"{epoch}: {current:.4f}")
