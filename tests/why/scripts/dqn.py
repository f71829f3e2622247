import random
from collections import deque

import numpy as np
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Sequential
from tensorflow.keras.optimizers import Adam


class Corridor:
    """A little world so that no gym is needed."""

    def reset(self):
        self.pos, self.t = 0.0, 0
        return np.array([[self.pos, 0.0, 1.0, 0.5]])

    def step(self, action):
        v = 0.1 if action == 1 else -0.1
        self.pos += v + random.gauss(0, 0.02)
        self.t += 1
        done = abs(self.pos) > 1 or self.t >= 100
        return np.array([[self.pos, v, 1.0 - self.pos, 0.5]]), self.pos, done


class DQNAgent:
    def __init__(self, state_size, action_size):
        self.memory = deque(maxlen=2000)
        self.gamma = 0.95
        self.epsilon = 1.0
        self.action_size = action_size
        self.model = Sequential([
            Input((state_size,)),
            Dense(24, activation="relu"),
            Dense(24, activation="relu"),
            Dense(action_size, activation="linear"),
        ])
        self.model.compile(loss="mse", optimizer=Adam(learning_rate=0.001))

    def act(self, state):
        if np.random.rand() <= self.epsilon:
            return random.randrange(self.action_size)
        return np.argmax(self.model.predict(state, verbose=0)[0])

    def replay(self, batch_size):
        minibatch = random.sample(self.memory, batch_size)
        states, targets = [], []
        for state, action, reward, next_state, done in minibatch:
            target = reward
            if not done:
                target = reward + self.gamma * np.amax(self.model.predict(next_state, verbose=0)[0])
            target_f = self.model.predict(state, verbose=0)
            target_f[0][action] = target
            states.append(state[0])
            targets.append(target_f[0])
        self.model.train_on_batch(np.array(states), np.array(targets))
        if self.epsilon > 0.01:
            self.epsilon *= 0.995


env = Corridor()
agent = DQNAgent(4, 2)
for e in range(500):
    state = env.reset()
    done = False
    score = 0
    while not done:
        action = agent.act(state)
        next_state, reward, done = env.step(action)
        agent.memory.append((state, action, reward, next_state, done))
        state = next_state
        score += reward
        if len(agent.memory) > 4:
            agent.replay(4)
    print("episode: {}/{}, score: {:.2f}, e: {:.2}".format(e, 500, score, agent.epsilon))
