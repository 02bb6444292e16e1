"""Short questions that have nothing to do with each other: our own sentences, each with another beginning and another length."""

from __future__ import annotations

QUESTIONS: tuple[str, ...] = (
    "What is the capital of France?",
    "Why does bread dough rise when it is left in a warm kitchen for an hour, and what happens to it if the kitchen is cold?",
    "How can I remove a coffee stain from a white cotton shirt if I only have vinegar, salt and cold water at home?",
    "Name three animals that sleep through the winter, and say in a few words where each of them likes to hide.",
    "My bicycle chain squeaks after every ride in the rain. Which oil should I use, and how often should I put it on?",
    "Explain to a child of eight years why the moon seems to change its shape in the course of a month.",
    "Which vegetables grow well in a small balcony garden that has sun only in the morning?",
    "Is it better to study late in the evening or early in the morning before an important exam, and why do people disagree about it?",
    "Tell me the difference between a violin and a viola in two sentences that a beginner will understand.",
    "Could you suggest a polite way to tell my neighbour that his dog barks every night between two and three o'clock?",
    "Who painted large water lilies in his own garden, and in which country was that garden?",
    "Some airplanes leave long white lines in the sky while others do not. What has to be true of the air for these lines to stay?",
    "When should tomatoes be planted outside in a country with cold springs, and how do I protect them from a late frost?",
    "Give me a simple recipe for a vegetable soup that takes less than half an hour and needs only one pot.",
    "Do fish sleep, and if they do, how can one see that a fish in a tank is asleep?",
    "Light travels faster than sound. How can I use that to guess how far away a thunderstorm is?",
    "Please write one friendly sentence that welcomes a new colleague who starts in the office on Monday.",
    "In which direction does a compass needle point at the north pole itself, and is it of any use there?",
    "The wooden door of our bathroom sticks in summer but closes easily in winter. What is the reason, and what can be done about it?",
    "Are there still wild horses in Europe, and where would a traveller have the best chance to see some?",
    "Suppose that I have four apples and give one third of them away. Why is that hard to do without a knife?",
    "Where does the salt in the sea come from, and why are most lakes not salty?",
    "Old maps often show islands that do not exist. How did such islands get on the maps, and why did they stay there so long?",
    "Can a plant grow without any soil, and what does it need instead?",
    "Describe the taste of a ripe mango to someone who has never eaten one, in at most thirty words.",
    "Should I let a hot soup cool down before I put it into the refrigerator, or is that an old myth?",
    "Ships made of steel are heavier than water and yet they float. Please explain this with the example of a bowl in a sink.",
    "Which planet of our solar system has the largest rings, and what are these rings made of?",
    "For how long can cooked rice be kept in the refrigerator, and how do I notice that it has gone bad?",
    "People in some countries drive on the left side of the road. What is the usual explanation for this habit?",
    "I would like to learn to whistle with two fingers. How do I place the fingers and the tongue?",
    "Before clocks were common, how did people in a village agree on a time to meet in the afternoon?",
    "A friend of mine wants to begin running but has never done any sport. What would be a sensible plan for the first two weeks?",
    "Mountains are closer to the sun than valleys, so why is it colder on top of a mountain?",
    "How many strings does a harp have, and are all of them of the same colour?",
    "List the things that one should check before buying a used piano from a private seller.",
    "Honey that is years old can still be eaten. What keeps it from going bad, and does it also hold for honey mixed with water?",
    "Would a candle burn in a spaceship in which everything floats, and what would its flame look like?",
    "Our cat brings mice into the house. Is it a present, a habit, or does she want to teach us something?",
    "Paper can be folded in half only a few times. Why does it become so hard after the sixth or the seventh fold?",
    "Does it make sense to water the lawn at noon on a hot day, or is the evening a better time?",
    "Find a short and cheerful name for a small bakery that sells only bread with seeds.",
    "Years with 366 days come every fourth year. Which exception to this rule do most people forget?",
    "Train tracks used to make a regular clicking sound under the wheels. Where did it come from, and why is it rarer today?",
    "Could a person drink melted snow without boiling it first, and what should be kept in mind?",
    "Between a lake and a pond, what is the difference, and is there a size at which one becomes the other?",
    "Onions make most people cry when they are cut. Which simple tricks really help against it?",
    "What do the numbers on a pair of binoculars mean, for example eight by forty-two?",
    "Teach me how to say thank you in five languages of your choice, and add how each of them is pronounced.",
    "Rubber bands become brittle when they lie in the sun. What does the light do to them?",
    "Whenever I bake a cake it sinks in the middle as soon as I take it out of the oven. What may be the cause?",
    "Sailors measured their speed with a rope full of knots. How did that work in practice, and what was the rope tied to?",
    "Is a tomato a fruit or a vegetable, and who has the right to decide such a question?",
    "During a long flight my ears hurt when the airplane comes down. What can I do in the minutes before?",
    "Glass is often made from sand, but sand is not transparent. What changes when it is melted?",
    "An old clock in the hall runs five minutes fast every day. How is a clock with a pendulum made slower?",
    "Nobody in our family can tell which mushrooms are safe to eat. Whom could we ask before cooking the ones we found?",
    "Writing a diary every evening is recommended by many. What could be the benefit of only three sentences a day?",
    "Birds sit on power lines without being harmed. What would have to happen for them to be in danger?",
    "As a gift for a teacher who likes gardening, what could a class of twenty children make together with little money?",
    "Two trains leave the same station in opposite directions. What else must I know to tell how far apart they are after an hour?",
    "Leaves turn red and yellow in autumn. Were these colours in the leaf all summer, or are they made at the end?",
    "Ice cubes from my freezer are white in the middle and clear at the edge. How can I make cubes that are clear throughout?",
    "Every winter the windows of our bedroom are wet in the morning. Where does the water come from, and how can we get rid of it?",
)
"""The questions, in the order in which workloads send them."""

CHAT_TURNS: tuple[str, ...] = (
    "I want to plan a weekend in the mountains with two friends. What should we think about first?",
    "One of us gets tired quickly. How long should the walks be?",
    "What would you pack for a day on which it may rain in the afternoon?",
    "We would like to cook in the evening, with one small stove. Any ideas?",
    "Is it a problem that none of us has slept in a mountain hut before?",
    "How do we find out in the morning whether a thunderstorm is coming?",
    "Please suggest a game for the evening that needs neither cards nor light.",
    "And what should we do on the way home to end the trip well?",
)
"""What a user says turn by turn in a chat about one subject."""

SHARED_BEGINNING = (
    "You are the assistant of a small public library. You answer visitors in one or two short, friendly sentences. "
    "The library is open from Tuesday to Saturday between ten and six o'clock, and on Thursday until eight. "
    "Books may be kept for four weeks and films for one week; both can be extended twice unless somebody else is waiting. "
    "There is a reading room on the first floor, a corner for children next to the entrance, and a room with six computers "
    "that must be booked at the desk. Food is not allowed, water in a closed bottle is. If you do not know an answer, say so "
    "and send the visitor to the desk."
)
"""What all requests of `branches` begin with."""

BRANCHES: tuple[str, ...] = (
    "Until when is the library open on Thursday?",
    "May I eat my sandwich in the reading room?",
    "How long can I keep a film, and can I extend it?",
    "My daughter is four years old. Is there a place for her?",
    "I need a computer for an hour. What do I have to do?",
    "Are you open on Monday?",
    "Can I bring my water bottle?",
    "Somebody is waiting for my book. Can I still extend it?",
)
"""Different questions after the same beginning."""
