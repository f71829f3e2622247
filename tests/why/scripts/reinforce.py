import numpy as np
import tensorflow as tf


class Balance:
    def reset(self):
        self.s = np.random.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s

    def step(self, a):
        self.s = self.s + np.array([0.02 * self.s[1], (a - 0.5) * 0.2, 0.02 * self.s[3], -(a - 0.5) * 0.3 + 0.05 * self.s[2]])
        self.t += 1
        return self.s, 1.0, abs(self.s[2]) > 0.2 or self.t >= 40


env = Balance()
policy = tf.keras.Sequential([
    tf.keras.layers.Dense(32, activation="relu"),
    tf.keras.layers.Dense(32, activation="relu"),
    tf.keras.layers.Dense(2, activation="softmax"),
])
optimizer = tf.keras.optimizers.Adam(0.01)

for episode in range(5000):
    state, done = env.reset(), False
    states, actions, rewards = [], [], []
    while not done:
        probs = policy(np.array([state], np.float32))
        action = np.random.choice(2, p=np.squeeze(probs.numpy()))
        states.append(state)
        actions.append(action)
        state, reward, done = env.step(action)
        rewards.append(reward)
    returns = np.cumsum(np.array(rewards, np.float32)[::-1])[::-1]
    returns = (returns - returns.mean()) / (returns.std() + 1e-9)
    with tf.GradientTape() as tape:
        p = policy(np.array(states, np.float32), training=True)
        picked = tf.reduce_sum(p * tf.one_hot(actions, 2), axis=1)
        loss = -tf.reduce_mean(tf.math.log(picked + 1e-9) * returns)
    grads = tape.gradient(loss, policy.trainable_variables)
    optimizer.apply_gradients(zip(grads, policy.trainable_variables))
    if episode % 20 == 0:
        print("episode", episode, "reward", sum(rewards))
